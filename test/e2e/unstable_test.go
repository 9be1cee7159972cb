package e2e

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/test/cluster"
)

// counting is a policy whose status counts by itself: each step reads the one before.
func counting(t *testing.T, name, next string) *policy.Program {
	t.Helper()
	return program(t, name+".yaml", fmt.Appendf(nil, `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: %s}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  variables:
    - {name: step, expression: "int(owner.?status.?state.?status.orValue('0'))"}
  status:
    state: {status: "%s"}
`, name, next))
}

// TestStatusReadsItself: a status that the policy reads is planned again after each write of it,
// until it comes to rest. One that does not is stopped, says so, and is then left in peace,
// whatever else happens to the owner.
func TestStatusReadsItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "unstable")
	rights := rightsOn("memcacheds", "memcacheds/status")
	t.Run("Bounded", func(t *testing.T) {
		w := w.in(t)
		namespace := w.namespace(rights...)
		w.run([]string{namespace}, counting(t, "bounded", "${step < 10 ? string(step + 1) : '10'}"))
		w.createOwner(namespace, "x", 1)
		w.stateIs(namespace, "x", "10")
		w.condition(namespace, "x", v1alpha1.ConditionReady, "True", "")
	})
	t.Run("Endless", func(t *testing.T) {
		w := w.in(t)
		namespace := w.namespace(rights...)
		l := w.launch(w.control.User(w.user), []string{namespace}, counting(t, "endless", "${string(step + 1)}"))
		w.createOwner(namespace, "x", 1)
		message := w.condition(namespace, "x", v1alpha1.ConditionStalled, "True", v1alpha1.ReasonUnstable)
		w.names(message, `owner.status.state.status is "10", and is to be "11"`, "10 times")
		w.stateIs(namespace, "x", "10")
		w.says(l, 0, "owner is stalled", v1alpha1.ReasonUnstable)
		if bytes.Contains(l.lines(0), []byte("is to be")) {
			t.Errorf("the log has values of a status:\n%s", l.tail())
		}
		mark := w.control.Audit().Mark()
		for i := range 20 {
			w.labelOwner(namespace, "x", fmt.Sprint(i))
		}
		w.createOwner(namespace, "y", 1) // when this one was served, the labels were seen
		w.condition(namespace, "y", v1alpha1.ConditionStalled, "True", v1alpha1.ReasonUnstable)
		writes := w.since(mark, func(r cluster.Request) bool { return r.Subresource == "status" && r.Name == "x" })
		if len(writes) > 0 {
			t.Errorf("20 changes of labels led to %d writes of a status that is known not to come to rest", len(writes))
		}
		w.resize(namespace, "x", 2) // somebody has acted: it is tried anew
		w.eventually("a new spec is tried anew", func(ctx context.Context) error {
			owner, err := w.owner(ctx, namespace, "x")
			if err != nil {
				return err
			}
			if state, _, _ := unstructured.NestedString(owner.Object, "status", "state", "status"); !strings.HasPrefix(state, "2") {
				return fmt.Errorf("it is at %q", state)
			}
			return nil
		})
		w.condition(namespace, "x", v1alpha1.ConditionStalled, "True", v1alpha1.ReasonUnstable)
	})
}
