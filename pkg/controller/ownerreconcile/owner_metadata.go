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

// writeOwnerMetadata makes the owner's metadata say what the plan wants it to, unless that was
// tried in this reconcile already. What it drops from the record, or settles, has to be confirmed
// first.
// The reconcile goes on with the owner as it is then.
func (p *Reconciler) writeOwnerMetadata(ctx context.Context, mark plan.OwnerMetadata) (did bool, err error) {
	id := "mark " + markText(mark)
	if p.triedActions[id] {
		return false, nil
	}
	p.triedActions[id] = true
	found, ok, err := p.ownerKind()
	if !ok {
		return false, err
	}
	var outcome apply.Outcome
	may := &mark
	write := ownerWrite{text: markText(mark), kind: found, do: func(ctx context.Context, a *apply.Applier, objects dynamic.ResourceInterface) apply.Outcome {
		outcome = a.WriteMetadata(ctx, objects, p.owner, *may)
		return outcome
	}}
	if p.isOwnerHeldBack(write) {
		return true, nil
	}
	if held, did, err := p.holdsMark(ctx, mark, found); held || err != nil {
		return did, err
	}
	if may, did, err = p.confirmRecord(ctx, mark); err != nil || may == nil {
		delete(p.triedActions, id)
		return did, err
	}
	before := markOf(p.owner)
	err = p.writeOwner(ctx, write)
	p.noteMark(before, mark, outcome)
	return true, err
}

// needsRecord says whether what an action makes, or merges, is found again by the record of
// the owner alone.
func (p *Reconciler) needsRecord(action plan.Action) bool {
	switch {
	case p.owner == nil:
		return false
	case action.Verb == plan.Create && action.Claim == "":
		child := p.childOf(action)
		return child != nil && child.CrossNamespace // the record has the place
	}
	return action.Verb == plan.Create || action.Verb == plan.Merge
}

// verifyRecord reports whether the record of the owner is what it was seen to be, so that what is
// made now is in it: the stream may be behind, and another process have gone further. It is
// asked again where the last answer is older than recordTrust, but not after a refusal; did: the
// next plan has to know why not.
func (p *Reconciler) verifyRecord(ctx context.Context) (is, did bool, err error) {
	const id = "verify"
	if p.isVerified() {
		return true, false, nil
	}
	if p.triedActions[id] {
		return false, false, nil
	}
	p.triedActions[id] = true
	found, ok, err := p.ownerKind()
	if !ok {
		return false, false, err
	}
	write := ownerWrite{text: id, kind: found, do: func(ctx context.Context, a *apply.Applier, objects dynamic.ResourceInterface) apply.Outcome {
		return a.VerifyOwner(ctx, objects, p.owner)
	}}
	if p.isOwnerHeldBack(write) {
		return false, true, nil
	}
	before := p.verifiedAt
	err = p.writeOwner(ctx, write)
	is = p.verifiedAt != before // an answer that came late counts for this one action
	p.triedActions[id] = !is
	return is, true, err
}

// recordTrust is how long the record is taken to be what a write was answered: a request of the
// reconcile may take long, and another process go further meanwhile.
const recordTrust = time.Second

func (p *Reconciler) isVerified() bool {
	return !p.verifiedAt.IsZero() && p.Now().Sub(p.verifiedAt) < recordTrust
}

// ownerWrite is a write of the owner's metadata.
type ownerWrite struct {
	text string             // equal for equal writes
	kind discovery.Resource // of the owner
	do   func(context.Context, *apply.Applier, dynamic.ResourceInterface) apply.Outcome
}

// isOwnerHeldBack says whether the owner is not to be written now: see isHeldBack.
func (p *Reconciler) isOwnerHeldBack(w ownerWrite) bool {
	if p.awaitsNewerOwner() {
		return true
	}
	home := p.state.inputs.Home
	return p.isHeldBack(plan.KeyOwner, func() string { return w.text }, home, home.Own.ProblemFor(w.kind.GVR.GroupResource(), "", "patch"))
}

// writeOwner writes, and goes on with the owner as it is then.
func (p *Reconciler) writeOwner(ctx context.Context, w ownerWrite) error {
	applier, err := p.newApplier()
	if err != nil {
		return err
	}
	sent := p.Now()
	writing, end := p.measured.BeginWrite(ctx, "patch", w.kind.GVR.GroupResource().String(), p.owner.GetNamespace())
	outcome := w.do(writing, &applier, applier.Client.Resource(w.kind.GVR).Namespace(p.owner.GetNamespace()))
	end(telemetry.OwnerOutcome(outcome.Problem != nil))
	if outcome.Problem != nil {
		p.ownerRefused(ctx, w, *outcome.Problem)
		return nil
	}
	p.takeOwnerMetadata(ctx, w.kind, outcome, sent)
	return nil
}

func (p *Reconciler) ownerRefused(ctx context.Context, w ownerWrite, problem plan.Problem) {
	a := access.Access{Verb: "patch", Group: w.kind.GVR.Group, Resource: w.kind.GVR.Resource, Name: p.owner.GetName()}
	level := 1
	if p.recordRefusal(plan.KeyOwner, w.text, p.owner.GetNamespace(), a, problem) && ctx.Err() == nil {
		level = 0
	}
	ctrllog.FromContext(ctx).V(level).Info("the owner cannot be marked", "reason", problem.Reason, "message", problem.Message)
}

// takeOwnerMetadata takes over the owner as the API server has answered it to what was sent then: the
// streams that it needs do not depend on its marks.
func (p *Reconciler) takeOwnerMetadata(ctx context.Context, found discovery.Resource, outcome apply.Outcome, sent time.Time) {
	log := ctrllog.FromContext(ctx)
	if p.state.refused.HasRefusal(plan.KeyOwner) {
		p.forgetRefusal(plan.KeyOwner)
	}
	switch {
	case outcome.Stale:
		p.recordStaleOwner()
		log.V(1).Info("the cache is behind; will try again")
	case outcome.Object != nil:
		p.owner, p.verifiedAt = outcome.Object, sent
		p.state.inputs.SetResourceVersion(p.owner.GetResourceVersion())
		p.Informers.Observe(p.ownerKey(found), outcome.Object, p.Owners)
		log.V(1).Info("owner is marked")
	default: // it is gone: its event says so
		p.isCacheBehind, p.isReleased = true, true
		if outcome.Deleted {
			p.state.releasedUID = p.owner.GetUID()
		}
		log.V(1).Info("owner is let go")
	}
}
