package ownerreconcile

import (
	"context"
	"time"

	"k8s.io/client-go/dynamic"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/telemetry"
	"github.com/ambit-dev/ambit/pkg/internal/apply"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// ownerWriter writes the metadata of a run's owner: the finalizer, and the record of its children.
type ownerWriter struct{ *Reconciler }

// writeOwnerMetadata makes the owner's metadata say what the plan wants it to, unless that was
// tried in this reconcile already. What it drops from the record, or settles, has to be confirmed
// first.
// The reconcile goes on with the owner as it is then.
func (o ownerWriter) writeOwnerMetadata(ctx context.Context, mark plan.OwnerMetadata) (did bool, err error) {
	id := "mark " + metadataText(mark)
	if o.triedActions[id] {
		return false, nil
	}
	o.triedActions[id] = true
	found, ok, err := o.ownerKind()
	if !ok {
		return false, err
	}
	var outcome apply.Outcome
	may := &mark
	write := ownerWrite{text: metadataText(mark), kind: found, do: func(ctx context.Context, a *apply.Applier, objects dynamic.ResourceInterface) apply.Outcome {
		outcome = a.WriteMetadata(ctx, objects, o.owner, *may)
		return outcome
	}}
	if o.isOwnerHeldBack(plan.KeyOwner, func() string { return write.text }, found, "") {
		return true, nil
	}
	if held, did, err := o.isMetadataHeldBack(ctx, mark, found); held || err != nil {
		return did, err
	}
	if may, did, err = o.confirmRecord(ctx, mark); err != nil || may == nil {
		delete(o.triedActions, id)
		return did, err
	}
	before := metadataOf(o.owner)
	err = o.writeOwner(ctx, write)
	o.recordMetadataWrite(before, mark, outcome)
	return true, err
}

// verifyRecord reports whether the record of the owner is what it was seen to be, so that what is
// made now is in it: the stream may be behind, and another process have gone further. It is
// asked again where the last answer is older than recordTrust, but not after a refusal; did: the
// next plan has to know why not.
func (o ownerWriter) verifyRecord(ctx context.Context) (is, did bool, err error) {
	const id = "verify"
	if o.isVerified() {
		return true, false, nil
	}
	if o.triedActions[id] {
		return false, false, nil
	}
	o.triedActions[id] = true
	found, ok, err := o.ownerKind()
	if !ok {
		return false, false, err
	}
	write := ownerWrite{text: id, kind: found, do: func(ctx context.Context, a *apply.Applier, objects dynamic.ResourceInterface) apply.Outcome {
		return a.VerifyOwner(ctx, objects, o.owner)
	}}
	if o.isOwnerHeldBack(plan.KeyOwner, func() string { return write.text }, found, "") {
		return false, true, nil
	}
	before := o.verifiedAt
	err = o.writeOwner(ctx, write)
	is = o.verifiedAt != before // an answer that came late counts for this one action
	o.triedActions[id] = !is
	return is, true, err
}

// recordTrust is how long the record is taken to be what a write was answered: a request of the
// reconcile may take long, and another process go further meanwhile.
const recordTrust = time.Second

func (o ownerWriter) isVerified() bool {
	return !o.verifiedAt.IsZero() && o.Now().Sub(o.verifiedAt) < recordTrust
}

// ownerWrite is a write of the owner's metadata.
type ownerWrite struct {
	text string             // equal for equal writes
	kind discovery.Resource // of the owner
	do   func(context.Context, *apply.Applier, dynamic.ResourceInterface) apply.Outcome
}

// writeOwner writes, and goes on with the owner as it is then.
func (o ownerWriter) writeOwner(ctx context.Context, w ownerWrite) error {
	applier, err := o.newApplier()
	if err != nil {
		return err
	}
	var outcome apply.Outcome
	release := o.holdOwnerEvents(o.ownerKey(w.kind))
	defer func() { release(outcome.Object) }()
	sent := o.Now()
	writing, end := o.measured.BeginWrite(ctx, "patch", w.kind.GVR.GroupResource().String(), o.owner.GetNamespace())
	outcome = w.do(writing, &applier, applier.Client.Resource(w.kind.GVR).Namespace(o.owner.GetNamespace()))
	end(telemetry.OwnerOutcome(outcome.Problem != nil))
	if outcome.Problem != nil {
		o.ownerRefused(ctx, w, *outcome.Problem)
		return nil
	}
	o.takeOwnerMetadata(ctx, w.kind, outcome, sent)
	return nil
}

func (o ownerWriter) ownerRefused(ctx context.Context, w ownerWrite, problem plan.Problem) {
	a := access.Access{Verb: "patch", Group: w.kind.GVR.Group, Resource: w.kind.GVR.Resource, Name: o.owner.GetName()}
	isNews := o.recordRefusal(plan.KeyOwner, w.text, o.owner.GetNamespace(), a, problem)
	ctrllog.FromContext(ctx).V(refusalLevel(ctx, isNews)).Info("the owner cannot be marked", "reason", problem.Reason, "message", problem.Message)
}

// takeOwnerMetadata takes over the owner as the API server has answered it to what was sent then: the
// streams that it needs do not depend on its marks.
func (o ownerWriter) takeOwnerMetadata(ctx context.Context, found discovery.Resource, outcome apply.Outcome, sent time.Time) {
	log := ctrllog.FromContext(ctx)
	if o.state.refused.HasRefusal(plan.KeyOwner) {
		o.forgetRefusal(plan.KeyOwner)
	}
	switch {
	case outcome.Stale:
		o.recordStaleOwner()
		log.V(1).Info("the cache is behind; will try again")
	case outcome.Object != nil:
		o.owner, o.verifiedAt = outcome.Object, sent
		o.Informers.Observe(o.ownerKey(found), outcome.Object, o.Owners)
		log.V(1).Info("owner is marked")
	default: // it is gone: its event says so
		o.isCacheBehind, o.isReleased = true, true
		if outcome.Deleted {
			o.state.releasedUID = o.owner.GetUID()
		}
		log.V(1).Info("owner is let go")
	}
}
