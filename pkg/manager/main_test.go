package manager

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/ambit-dev/ambit/test/cluster"
)

// control is the control plane of this package's tests: an API server, and nobody who
// touches the objects.
var control *cluster.Cluster

// ambit is the user that is run. It has the rights that a test grants.
const ambit = "ambit"

func TestMain(m *testing.M) {
	code := cluster.Main(m, cluster.Options{
		Audit: true, Users: map[string][]string{ambit: nil},
		CRDs:    []string{"../../examples/memcached/crd.yaml"},
		Without: []string{"kube-controller-manager", "kube-scheduler", "kwok"},
	}, func(c *cluster.Cluster) { control = c })
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
