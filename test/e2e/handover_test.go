package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// team is a policy for the Memcacheds of one team: a ConfigMap of the owner's name in
// each namespace that its annotation `copies` lists, with the team in it.
func team(t *testing.T, name, more string) *policy.Program {
	t.Helper()
	return program(t, name+".yaml", fmt.Appendf(nil, `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: %[1]s, namespace: ambit-system}
spec:
  owner:
    apiVersion: cache.example.com/v1alpha1
    kind: Memcached
    selector: {matchLabels: {team: %[1]s}}
%[2]s
  children:
    - id: copies
      forEach: {as: target, in: "owner.metadata.?annotations[?'copies'].orValue('').split(',').filter(n, n != '')"}
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.name}", namespace: "${target}"}
        data: {size: "${policy.name}"}
`, name, more))
}

const handoverUser = "handover"

// TestHandover: an owner goes from one policy to another by its labels. The first cleans
// up, then the second begins, whether one process has both or each has its own; as long as the
// first is away, the second says that it waits, and touches nothing.
func TestHandover(t *testing.T) {
	t.Parallel()
	w := newWorld(t, handoverUser)
	home, there := w.namespace(append(homeRights(), rightsTo("", "configmaps"))...), w.namespace(rightsTo("", "configmaps"))
	w.decided(there, true, rightsTo("", "configmaps"))
	red, blue := team(t, "red", "  deletion: Ordered"), team(t, "blue", "")
	w.copiesTo(home, "x", there)
	t.Run("OneProcess", func(t *testing.T) {
		w := w.in(t)
		stop := w.run([]string{home}, red, blue)
		for _, to := range []string{"red", "blue", "red"} {
			w.handOver(home, to)
			w.servedBy(home, there, to)
		}
		stop()
	})
	t.Run("TheFirstIsAway", func(t *testing.T) {
		w := w.in(t)
		w.handOver(home, "blue")
		stop := w.run([]string{home}, blue)
		w.condition(home, "x", v1alpha1.ConditionReady, "False", v1alpha1.ReasonOtherPolicy)
		w.copyHas(there, "x", "red")
		t.Run("AndComesBack", func(t *testing.T) {
			w := w.in(t)
			stopFirst := w.run([]string{home}, red)
			w.servedBy(home, there, "blue")
			stopFirst()
		})
		stop()
	})
	t.Run("DeletedUnderTheOther", func(t *testing.T) {
		w := w.in(t)
		w.handOver(home, "red")
		stop := w.run([]string{home}, red)
		w.condition(home, "x", v1alpha1.ConditionReady, "False", v1alpha1.ReasonOtherPolicy)
		w.deleteOwner(home, "x")
		stopFirst := w.run([]string{home}, blue)
		w.ownerGone(home, "x")
		w.noCopy(there, "x")
		stopFirst()
		stop()
	})
}

func (w *world) handOver(namespace, team string) {
	w.t.Helper()
	w.patchOwner(namespace, "x", fmt.Sprintf(`{"metadata":{"labels":{"team":%q}}}`, team))
}

// servedBy waits until a policy has made the copy, and the record is its own.
func (w *world) servedBy(home, there, team string) {
	w.t.Helper()
	w.copyHas(there, "x", team)
	w.eventually("the record is of policy "+team, func(ctx context.Context) error {
		owner, err := w.owner(ctx, home, "x")
		if err != nil {
			return err
		}
		record, err := inventory.ParseInventory(owner.GetAnnotations()[v1alpha1.AnnotationChildren])
		if err == nil && (record.Policy != v1alpha1.PolicyLabel("ambit-system", team) || len(owner.GetFinalizers()) != 1) {
			err = fmt.Errorf("it is of %q, with finalizers %v", record.Policy, owner.GetFinalizers())
		}
		return err
	})
	w.condition(home, "x", v1alpha1.ConditionReady, "True", "")
}
