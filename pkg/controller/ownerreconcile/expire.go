package ownerreconcile

import (
	"context"

	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/controller/telemetry"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// deleteOwner deletes the owner itself, as the plan was made for it: not one that has changed since, whose time may have
// been extended. It is not done twice in a reconcile. What follows is the owner's own event.
func (o ownerWriter) deleteOwner(ctx context.Context) (did bool, err error) {
	const id = "expire"
	if o.triedActions[id] {
		return false, nil
	}
	o.triedActions[id] = true
	found, ok, err := o.ownerKind()
	if !ok {
		return false, err
	}
	text := func() string { return id + " " + string(o.owner.GetUID()) }
	if o.isOwnerHeldBackFrom(plan.KeyExpire, text, found, "", "delete") {
		return true, nil
	}
	applier, err := o.newApplier()
	if err != nil {
		return false, err
	}
	resource := found.GVR.GroupResource().String()
	writing, end := o.measured.BeginWrite(ctx, "delete", resource, o.owner.GetNamespace())
	outcome := applier.DeleteOwner(writing, applier.Client.Resource(found.GVR).Namespace(o.owner.GetNamespace()), found.GVR, o.owner)
	end(telemetry.OwnerOutcome(outcome.Problem != nil))
	log := ctrllog.FromContext(ctx)
	switch {
	case outcome.Problem != nil:
		a := access.Access{Verb: "delete", Group: found.GVR.Group, Resource: found.GVR.Resource, Name: o.owner.GetName()}
		isNews := o.recordRefusal(plan.KeyExpire, text(), o.owner.GetNamespace(), a, *outcome.Problem)
		log.V(refusalLevel(ctx, isNews)).Info("the owner is expired and cannot be deleted", "reason", outcome.Problem.Reason, "message", outcome.Problem.Message)
		return true, nil
	case outcome.Stale:
		o.recordStaleOwner()
		log.V(1).Info("the cache is behind; will try again")
		return true, nil
	}
	if o.state.refused.HasRefusal(plan.KeyExpire) {
		o.forgetRefusal(plan.KeyExpire)
	}
	o.isCacheBehind, o.isReleased = true, true
	log.Info("the owner is expired, and was deleted")
	return true, nil
}
