package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/ownerviews"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/controller/placepermissions"
	"github.com/ambit-dev/ambit/pkg/controller/policykinds"
	"github.com/ambit-dev/ambit/pkg/controller/telemetry"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// reconcileOwner takes one owner through the stages of a reconcile. The result is when to look
// again if nothing happens; 0: not at all.
func (op *policyController) reconcileOwner(ctx context.Context, key Key) (wait time.Duration, err error) {
	name := types.NamespacedName{Namespace: key.Namespace, Name: key.Name}

	// Load: the owner as its stream shows it.
	owner, from, live := op.ownerViews.ReadOwner(key.Namespace, key.Name)
	if !live {
		if op.ownerViews.IsOutside(key.Namespace) {
			op.forgetOwner(name)
		}
		return 0, nil
	}
	leave, wait := op.admitOwner(name, owner)
	if wait > 0 {
		return wait, nil
	}
	defer leave()

	// Intent: what there is to do for it.
	owner, why, wait := op.resolveIntent(ctx, name, owner)
	if wait > 0 || why != intentReconcile && why != intentCleanUp {
		return op.leaveOwner(ctx, name, owner, why, wait), nil
	}

	// Permissions: what may be done in its namespace.
	p, home, wait := op.beginReconcile(name, owner, from, why == intentCleanUp)
	if p == nil {
		return wait, nil
	}
	ctx, p.measured = op.controller.telemetry.BeginReconcile(ctx, key)
	defer func() { p.endMeasure(err) }()

	// Observe and plan; write the owner's metadata, then the children; and again, until the
	// plan has nothing more to do.
	planned, wait, err := p.planAndWrite(ctx, home)
	switch {
	case err != nil:
		return 0, err
	case wait > 0:
		p.state.existing = p.existing
		return wait, nil
	case p.isRefusalUnconfirmed:
		return placepermissions.ConfirmGrace, nil
	}
	p.recordPlan(ctx, planned)

	// Status.
	switch {
	case p.retire && planned.Done:
		p.markCleanedUp()
		return 0, nil
	case p.isReleased:
		return p.requeueAfter(planned), nil
	}
	if err := p.reportOwner(ctx, planned); err != nil {
		return 0, err
	}

	// Requeue.
	if wait := p.recordLimits(planned); wait > 0 {
		return wait, nil
	}
	return p.requeueAfter(planned), nil
}

// admitOwner returns how long the owner has to wait before anything is done for it: its stream is
// behind, it exceeded limits, or it is expensive and others are at work. If the result is 0,
// the caller calls leave when the work on the owner is done.
func (op *policyController) admitOwner(name types.NamespacedName, owner *unstructured.Unstructured) (leave func(), wait time.Duration) {
	if wait := max(op.waitForNewer(name, owner), op.quarantineWait(name, owner)); wait > 0 {
		return nil, wait
	}
	return op.enterThrottle(name)
}

// leaveOwner ends a reconcile of an owner that is neither to be served nor to be cleaned up
// after, or of which that is not known before the wait is over.
func (op *policyController) leaveOwner(ctx context.Context, name types.NamespacedName, owner *unstructured.Unstructured, why intent, wait time.Duration) time.Duration {
	switch {
	case wait > 0:
	case why == intentIgnore:
		op.forgetOwner(name)
	case why == intentInspect:
		if wait = op.inspectChildren(ctx, name, owner); wait == 0 {
			op.markLookedAt(name)
		}
	}
	return wait
}

// beginReconcile begins the work on an owner: from here on it is told of changes. It returns what
// may be done in the owner's namespace. The reconcile is nil if nothing can be done now; the wait
// says when to look again.
func (op *policyController) beginReconcile(name types.NamespacedName, owner *unstructured.Unstructured, from ownerviews.View, retire bool) (*ownerReconciler, *permissionset.Set, time.Duration) {
	state, ok := op.ownerStateOf(name, owner, from)
	if !ok || state.releasedUID == owner.GetUID() { // of one that was let go the event is to come
		return nil, nil, 0
	}
	home, wait := op.permissions.ForOwners(name.Namespace)
	if wait > 0 {
		return nil, nil, wait
	}
	if home.Refusal != nil { // said of the policy: nothing can be done as its identity
		op.controller.options.Informers.Require(state.subscriber, nil)
		state.inputs = nil
		op.markLookedAt(name)
		return nil, nil, 0
	}
	return op.newOwnerReconciler(owner, state, retire), home, 0
}

// endMeasure says for metrics and traces what the reconcile has come to.
func (p *ownerReconciler) endMeasure(err error) {
	result := telemetry.ResultWaiting
	switch {
	case err != nil:
		result = telemetry.ResultError
	case p.lastPlan != nil:
		result = healthOf(p.lastPlan).result()
	}
	p.measured.End(result)
	if p.lastPlan != nil {
		p.measured.ObserveRights(p.lastPlan, &p.state.rightsMissingSince)
	}
}

// recordPlan takes note of the plan that the reconcile came to, and gives back what it showed to be
// of no use.
func (p *ownerReconciler) recordPlan(ctx context.Context, planned *plan.Plan) {
	p.markLookedAt(p.state.subscriber.name)
	p.releaseUnusedKinds()
	p.scanForOrphans()
	p.recordHealth(planned)
	p.logDropped(ctx, planned)
	p.recordOtherPolicy(planned)
}

// recordLimits notes whether the plan exceeded a limit, and returns how long to leave the
// owner alone because of that. An owner that names too many places or kinds costs no more
// than others: it only looks again after a while.
func (p *ownerReconciler) recordLimits(planned *plan.Plan) time.Duration {
	exceeded, crowded := false, false
	for _, b := range planned.Blockers {
		here := b.Message == p.state.inputs.Crowded || b.Message == policykinds.TooManyKinds().Message
		exceeded = exceeded || b.Reason == v1alpha1.ReasonLimitExceeded && !here
		crowded = crowded || b.Reason == v1alpha1.ReasonLimitExceeded && here
	}
	name := p.state.subscriber.name
	if exceeded {
		return p.recordExceeded(name, p.owner.GetResourceVersion())
	}
	p.mu.Lock()
	p.quarantine.RecordSuccess(name)
	p.mu.Unlock()
	if crowded {
		return shorterWait(p.requeueAfter(planned), crowdedRetry)
	}
	return 0
}

// markCleanedUp notes that there is nothing left of a retired owner, and gives back what
// it needed.
func (p *ownerReconciler) markCleanedUp() {
	if p.owner == nil {
		return
	}
	name := p.state.subscriber.name
	p.mu.Lock()
	p.owners.RecordCleanedUp(name, p.owner.GetUID(), p.retiring)
	p.mu.Unlock()
	p.forgetOwner(name)
}
