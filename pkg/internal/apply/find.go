package apply

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/plan/claims"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// Find reads the object of an entry in an owner's record, whatever its labels are. It is
// one request. The outcome has the object in Object, with Met, if the record proves that
// it is the owner's and nothing else ties it to an owner; nothing if it is gone or not
// such a one; else Problem.
func (a *Applier) Find(ctx context.Context, record inventory.Inventory, e inventory.Entry, t Target) Outcome {
	w := actionWrite{
		Action: plan.Action{GVK: e.GVK, Namespace: e.Namespace, Name: e.Name},
		Target: t, objects: a.Client.Resource(t.Resource).Namespace(e.Namespace),
	}
	live, err := w.objects.Get(ctx, e.Name, metav1.GetOptions{})
	switch {
	case isGone(err):
		return Outcome{}
	case err != nil:
		return a.refusedOutcome(err, "get", w)
	}
	_, ours := record.Prove(e, live)
	if !ours || w.isOfAnother(live) || otherPolicy(live, record.Policy) != "" || claims.IsControlled(live, t.OwnerUID) {
		return Outcome{}
	}
	return Outcome{Object: live, Met: true}
}
