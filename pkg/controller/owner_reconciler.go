package controller

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/recordcheck"
	"github.com/ambit-dev/ambit/pkg/controller/telemetry"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/internal/apply"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// ownerReconciler is one run over one owner, or over what the policy itself ensures. It lives on
// its worker's goroutine.
type ownerReconciler struct {
	*policyController
	owner *unstructured.Unstructured // nil for what is ensured
	state *ownerState
	// retire: the policy does not want the owner any more.
	retire bool
	// problems are the writes that are refused now, by plan.Snapshot.Problems' keys.
	problems     map[string]plan.Problem
	triedActions map[string]bool // actions of this reconcile
	// isRefusalUnconfirmed: a write was refused for want of a right, and a review is to confirm
	// it before anything is said.
	isRefusalUnconfirmed bool
	existing             []existingObject
	// answers are about objects that this reconcile has made, removed, or read because of the record.
	answers       recordcheck.Answers
	verifiedAt    time.Time // when a write was sent whose answer was the owner as it is; zero: none was
	isCacheBehind bool      // an answer showed that the cache is behind
	waits         bool      // the owner's metadata is held back, and requeueTime, or what is told, says until when
	isPaced       bool      // there was more to read by name than may be read in a row
	requeueTime   time.Time // when to look at what was held back, or is not over; zero: there is nothing
	// measured is the reconcile for metrics and traces.
	measured *telemetry.Reconcile
	// lastPlan is the plan that the reconcile came to; nil: to none.
	lastPlan   *plan.Plan
	isReleased bool // the owner was let go: nothing more is to be said of it
	// soughtKinds are kinds that were looked up for single objects.
	soughtKinds kindSet
}

func (op *policyController) newOwnerReconciler(owner *unstructured.Unstructured, state *ownerState, retire bool) *ownerReconciler {
	before := state.existing
	state.existing = nil
	for i := range before {
		before[i].before = true
	}
	return &ownerReconciler{
		policyController: op, owner: owner, state: state, retire: retire, existing: before, measured: op.controller.telemetry.Unmeasured(op.id),
		problems: map[string]plan.Problem{}, triedActions: map[string]bool{}, soughtKinds: kindSet{},
	}
}

// requeueAt has the owner looked at again at a time, if nothing happens before. Zero: it need not be.
func (p *ownerReconciler) requeueAt(at time.Time) {
	if !at.IsZero() && (p.requeueTime.IsZero() || at.Before(p.requeueTime)) {
		p.requeueTime = at
	}
}

// requeueAfter says when to look at the owner again if nothing happens.
func (p *ownerReconciler) requeueAfter(planned *plan.Plan) time.Duration {
	var wait time.Duration
	sooner := func(d time.Duration) {
		if d > 0 && (wait == 0 || d < wait) {
			wait = d
		}
	}
	sooner(planned.RequeueAfter)
	now := p.controller.now()
	for key := range p.problems {
		if at, isRefused := p.state.refused.NextTry(key); isRefused {
			sooner(max(at.Sub(now), time.Millisecond))
		}
	}
	if !p.requeueTime.IsZero() {
		sooner(max(p.requeueTime.Sub(now), time.Millisecond))
	}
	switch {
	case p.isCacheBehind:
	case p.isPaced: // as much was found out as may be: it goes on as before
		return wait
	default:
		p.state.failures = 0
		return wait
	}
	sooner(p.controller.backoffAfter(p.state.failures))
	p.state.failures++
	return wait
}

// ownerUID is empty for what the policy itself ensures.
func (p *ownerReconciler) ownerUID() types.UID {
	if p.owner == nil {
		return ""
	}
	return p.owner.GetUID()
}

// ownerNamespace is empty for what the policy itself ensures.
func (p *ownerReconciler) ownerNamespace() string {
	if p.owner == nil {
		return ""
	}
	return p.owner.GetNamespace()
}

// newApplier returns who writes for the policy.
func (p *ownerReconciler) newApplier() (apply.Applier, error) {
	client, err := p.controller.options.Clients(p.identity)
	return apply.Applier{Client: client, Manager: p.manager, Identity: p.userName()}, err
}

// recordStaleOwner notes that the owner has changed since it was seen.
func (p *ownerReconciler) recordStaleOwner() {
	p.isCacheBehind = true
	p.state.stale.RecordConflict(p.owner.GetResourceVersion(), p.controller.backoffAfter, p.controller.now())
}

// awaitsNewerOwner reports whether the owner is known to have changed since it was seen, so that nothing is
// written as of that, and has it looked at again.
func (p *ownerReconciler) awaitsNewerOwner() bool {
	awaits := p.state.stale.HoldsBack(p.owner.GetResourceVersion(), p.controller.now())
	p.isCacheBehind = p.isCacheBehind || awaits
	return awaits
}

// ownerExists says whether there is, or may be, an owner of that uid: only where all of
// them can be seen it is known that there is none.
func (op *policyController) ownerExists(uid types.UID) bool {
	view := op.ownerViews.ViewOf(allNamespaces)
	if view == nil {
		return true
	}
	owners, status := view.Read()
	return !status.Synced || slices.ContainsFunc(owners, func(o *unstructured.Unstructured) bool { return o.GetUID() == uid })
}

func (p *ownerReconciler) ownerKey(owner discovery.Resource) informer.Key {
	return p.ownerInterest(owner, p.ownerViews.StreamOf(p.owner.GetNamespace())).Key
}

// kindSet is a set of kinds.
type kindSet map[schema.GroupVersionKind]bool

// seekKind notes that the reconcile is about to look up a kind for one object. It returns false
// if that is not to be for now.
func (p *ownerReconciler) seekKind(gvk schema.GroupVersionKind) bool {
	p.soughtKinds[gvk] = true
	return p.kinds.RetainKind(p.state.subscriber.name, gvk)
}

// releaseUnusedKinds has kinds no longer looked up that the reconcile has not needed.
func (p *ownerReconciler) releaseUnusedKinds() {
	p.kinds.ReleaseKinds(p.state.subscriber.name, func(gvk schema.GroupVersionKind) bool {
		return p.state.inputs.HasLookedUp(gvk) || p.soughtKinds[gvk]
	})
}
