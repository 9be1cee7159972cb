package e2e

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/ambit-dev/ambit/test/cluster"
)

// control is the control plane of this package's stories.
var control *cluster.Cluster

func TestMain(m *testing.M) {
	options := cluster.Options{Audit: true, Users: users(), CRDs: append(policyCRDs(), "../../examples/memcached/crd.yaml")}
	code := cluster.Main(m, options, func(c *cluster.Cluster) { control = c })
	if err := os.RemoveAll(builtFolder()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// users are the identities that stories may run as: one each, so that the audit
// log tells them apart.
func users() map[string][]string {
	names := map[string][]string{}
	for _, name := range []string{"lifecycle", "quiet", "freed", "denied", "missing", "missing-kind", "shared", "graph", "labels", "refused", "goes", "statusless", "restart", "badstatus",
		"scenario", "scenario-blind", "verbs", "verbs-blind", "least", "namespaced", "scope", "wide", "flaps", "kinds", "cache", "reasons", "readiness", "impersonator", "impersonator-two"} {
		names[name] = nil
	}
	for _, name := range engineUsers() {
		names[name] = nil
	}
	for _, name := range slices.Concat(policyUsers(), hostileUsers(), []string{handoverUser}, selectionUsers(), liveUsers(), sourceUsers(), managerUsers(), contestUsers(), behaviourUsers(), []string{canaryUser, upgradeUser, madeUser, timeUser}) {
		names[name] = nil
	}
	return names
}
