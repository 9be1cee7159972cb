package controller

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/ownerreconcile"
	"github.com/ambit-dev/ambit/pkg/controller/ownerviews"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/controller/placepermissions"
	"github.com/ambit-dev/ambit/pkg/controller/policykinds"
	"github.com/ambit-dev/ambit/pkg/controller/telemetry"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// ownerTurn is the turn of an owner of a policy, on the goroutine of the worker that has its key.
type ownerTurn struct{ *policyController }

// reconcileKey works on a key. Until it returns nobody else has the key, so that an owner is
// never worked on by two versions of a policy at a time. A key of a policy that is gone
// is nothing.
func (e *Controller) reconcileKey(ctx context.Context, key Key) (reconcile.Result, error) {
	ctx = e.telemetry.WithEvent(ctx, key)
	revision := e.revisions.EnterCurrent(key.Policy)
	if revision == nil {
		return reconcile.Result{}, nil
	}
	op := revision.Value()
	defer e.leaveRevision(op, key)
	if key.Name == "" {
		wait := policyTurn{op}.reconcilePolicy(ctx)
		return reconcile.Result{RequeueAfter: shorterWait(wait, e.settleRevision(op))}, nil
	}
	wait, err := ownerTurn{op}.reconcileOwner(ctx, key)
	e.settleRevision(op)
	return reconcile.Result{RequeueAfter: wait}, err
}

// reconcileOwner takes one owner through the stages of a reconcile. The result is when to look
// again if nothing happens; 0: not at all.
func (t ownerTurn) reconcileOwner(ctx context.Context, key Key) (wait time.Duration, err error) {
	name := types.NamespacedName{Namespace: key.Namespace, Name: key.Name}

	// Load: the owner as its stream shows it.
	owner, from, live := t.ownerViews.ReadOwner(key.Namespace, key.Name)
	if !live {
		if t.ownerViews.IsOutside(key.Namespace) {
			t.forgetOwner(name)
		}
		return 0, nil
	}
	leave, wait := t.admitOwner(name, owner)
	if wait > 0 {
		return wait, nil
	}
	defer leave()

	// Intent: what there is to do for it.
	owner, why, wait := t.resolveIntent(ctx, name, owner)
	if wait > 0 || why != intentReconcile && why != intentCleanUp {
		return t.leaveOwner(ctx, name, owner, why, wait), nil
	}

	// Permissions: what may be done in its namespace.
	state, home, wait := t.beginReconcile(name, owner, from)
	if state == nil {
		return wait, nil
	}
	ctx, measured := t.controller.telemetry.BeginReconcile(ctx, key)
	p := ownerreconcile.New(t.reconciles, owner, &state.State, why == intentCleanUp, measured)
	defer func() { state.endMeasure(measured, p.LastPlan(), err) }()

	// Observe and plan; write the owner's metadata, then the children; and again, until the
	// plan has nothing more to do.
	planned, wait, err := p.PlanAndWrite(ctx, home)
	switch {
	case err != nil || wait > 0:
		return wait, err
	case p.IsRefusalUnconfirmed():
		return placepermissions.ConfirmGrace, nil
	}
	t.recordPlan(ctx, name, state, p, planned)

	// Status.
	switch {
	case why == intentCleanUp && planned.Done:
		t.markCleanedUp(name, owner.GetUID())
		return 0, nil
	case p.IsReleased():
		return p.RequeueAfter(planned), nil
	case why == intentCleanUp:
		t.recordCleanupBlockers(name, planned)
	}
	err = p.ReportStatus(ctx, planned)
	if said := p.LastPlan(); said != planned { // what is said of the owner is not what was planned
		t.recordHealth(state, said)
	}
	if err != nil {
		return 0, err
	}

	// Requeue.
	if wait := t.recordLimits(name, p, planned); wait > 0 {
		return wait, nil
	}
	return p.RequeueAfter(planned), nil
}

// admitOwner returns how long the owner has to wait before anything is done for it: its stream is
// behind, it exceeded limits, or it is expensive and others are at work. If the result is 0,
// the caller calls leave when the work on the owner is done.
func (t ownerTurn) admitOwner(name types.NamespacedName, owner *unstructured.Unstructured) (leave func(), wait time.Duration) {
	if wait := max(t.waitForNewer(name, owner), t.quarantineWait(name, owner)); wait > 0 {
		return nil, wait
	}
	return t.enterThrottle(name)
}

// leaveOwner ends a reconcile of an owner that is neither to be served nor to be cleaned up
// after, or of which that is not known before the wait is over.
func (t ownerTurn) leaveOwner(ctx context.Context, name types.NamespacedName, owner *unstructured.Unstructured, why intent, wait time.Duration) time.Duration {
	switch {
	case wait > 0:
	case why == intentIgnore:
		t.forgetOwner(name)
	case why == intentInspect:
		if wait = t.inspectChildren(ctx, name, owner); wait == 0 {
			t.markLookedAt(name)
		}
	}
	return wait
}

// beginReconcile begins the work on an owner: from here on it is told of changes. It returns what
// may be done in the owner's namespace. The state is nil if nothing can be done now; the wait
// says when to look again.
func (t ownerTurn) beginReconcile(name types.NamespacedName, owner *unstructured.Unstructured, from ownerviews.View) (*ownerState, *permissionset.Set, time.Duration) {
	state, ok := t.ownerStateOf(name, owner, from)
	if !ok || state.IsReleased(owner.GetUID()) {
		return nil, nil, 0
	}
	home, wait := t.permissions.ForOwners(name.Namespace)
	if wait > 0 {
		return nil, nil, wait
	}
	if home.Refusal != nil { // said of the policy: nothing can be done as its identity
		state.ReleaseInputs(t.controller.options.Informers)
		t.markLookedAt(name)
		return nil, nil, 0
	}
	return state, home, 0
}

// endMeasure says for metrics and traces what a reconcile has come to; nil: to no plan.
func (s *ownerState) endMeasure(measured *telemetry.Reconcile, planned *plan.Plan, err error) {
	result := telemetry.ResultWaiting
	switch {
	case err != nil:
		result = telemetry.ResultError
	case planned != nil:
		result = healthOf(planned).reconcileResult()
	}
	measured.EndReconcile(result)
	if planned != nil {
		measured.ObserveRights(planned, &s.rightsMissingSince)
	}
}

// recordPlan takes note of the plan that a reconcile came to.
func (t ownerTurn) recordPlan(ctx context.Context, name types.NamespacedName, state *ownerState, p *ownerreconcile.Reconciler, planned *plan.Plan) {
	t.markLookedAt(name)
	t.recordHealth(state, planned)
	t.setWake(name, planned)
	t.scanForOrphans(name, p.CurrentInputs())
	p.RecordPlan(ctx, planned)
}

// setWake has the owner looked at again when its plan changes by itself.
func (t ownerTurn) setWake(name types.NamespacedName, planned *plan.Plan) {
	key := t.subscriberFor(name).key
	if planned.Wake == nil {
		t.controller.wakes.RemoveWake(key)
		return
	}
	t.controller.wakes.SetWake(key, planned.Wake.At)
}

// recordLimits notes whether the plan exceeded a limit, and returns how long to leave the
// owner alone because of that. An owner that names too many places or kinds costs no more
// than others: it only looks again after a while.
func (t ownerTurn) recordLimits(name types.NamespacedName, p *ownerreconcile.Reconciler, planned *plan.Plan) time.Duration {
	exceeded, crowded := false, false
	for _, b := range planned.Blockers {
		here := b.Message == p.CurrentInputs().Crowded || b.Message == policykinds.TooManyKinds().Message
		exceeded = exceeded || b.Reason == v1alpha1.ReasonLimitExceeded && !here
		crowded = crowded || b.Reason == v1alpha1.ReasonLimitExceeded && here
	}
	if exceeded {
		return t.recordExceeded(name, p.CurrentOwner().GetResourceVersion())
	}
	t.mu.Lock()
	t.quarantine.RecordSuccess(name)
	t.mu.Unlock()
	if crowded {
		return shorterWait(p.RequeueAfter(planned), crowdedRetry)
	}
	return 0
}

// markCleanedUp notes that there is nothing left of a retired owner, and gives back what
// it needed.
func (t ownerTurn) markCleanedUp(name types.NamespacedName, uid types.UID) {
	t.mu.Lock()
	t.owners.RecordCleanedUp(name, uid, t.retiring)
	t.mu.Unlock()
	t.forgetOwner(name)
}

// recordCleanupBlockers keeps what is in the way of cleaning up after the owner. Nothing is made
// for it, so that the right to create is none of it.
func (t ownerTurn) recordCleanupBlockers(name types.NamespacedName, planned *plan.Plan) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanupBlockers[name] = slices.DeleteFunc(slices.Clone(planned.Blockers), func(b plan.Problem) bool {
		return len(b.Denied) > 0 && !slices.ContainsFunc(b.Denied, func(d v1alpha1.DeniedAccess) bool { return d.Verb != "create" })
	})
}
