package policysource

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policysource/policystatus"
	"github.com/ambit-dev/ambit/test/policytext"
)

// TestRealShortfalls: each policy that does not do all of its work is known with its reason,
// and a ConfigMap in which there is no policy is told of once.
func TestRealShortfalls(t *testing.T) {
	w := newWorld(t)
	w.grant(w.own, "read", rule("", "configmaps", "list", "watch", "patch"), rule("events.k8s.io", "events", "create"))
	w.engine.report(policystatus.Report{Policy: w.own + "/lacking", Serving: true, Denied: []v1alpha1.DeniedAccess{{Verb: "list", Resource: "pods"}}})
	w.engine.report(policystatus.Report{Policy: w.own + "/syncing"})
	w.start(Options{ConfigMaps: true})
	w.putMap(w.own, "policies", map[string]string{
		"a.yaml": policytext.Document("broken v1 broken owner=A"), "b.yaml": policytext.Document("lacking v1 owner=B"), "c.yaml": policytext.Document("syncing v1 owner=C"),
		"d.yaml": policytext.Document("taken v1 owner=C"), "e.yaml": policytext.Document("well v1 owner=E"), "f.yaml": "{",
	})
	w.putMap(w.own, "none", map[string]string{"policy": policytext.Document("lost v1 owner=F")})
	want := []string{"a.yaml broken false Invalid", "b.yaml lacking true Forbidden", "c.yaml syncing false Syncing", "d.yaml taken false OwnersTaken", "f.yaml  false Invalid"}
	w.eventually("all is known", func() error {
		var got []string
		for _, s := range w.source.NotReadyPolicies() {
			got = append(got, fmt.Sprintf("%s %s %t %s", s.Origin.Key, s.Name, s.Ready, s.Reason))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
	w.eventually("events are made", func() error {
		all := strings.Join(w.events.all(), "\n")
		for _, want := range []string{"Warning Invalid a policy without a name in f.yaml: ", "Warning Invalid there is no policy in it", "Warning Forbidden policy lacking in b.yaml: cannot list pods"} {
			if strings.Count(all, want) != 1 {
				return fmt.Errorf("%q is not there once: %s", want, all)
			}
		}
		return nil
	})
	w.patch(configMaps(), w.own, "none", `{"data":{"more":"text"}}`)
	w.putMap(w.own, "last", map[string]string{"a.yaml": policytext.Document("last v1 owner=Last")})
	w.runs(w.own+"/last", "")
	if n := w.logged("the label of policies is ignored"); n != 1 {
		t.Errorf("it was said %d times that a ConfigMap holds no policy", n)
	}
}
