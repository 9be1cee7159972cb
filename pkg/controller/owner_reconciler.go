package controller

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/ownerinputs"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/controller/recordcheck"
	"github.com/ambit-dev/ambit/pkg/internal/status"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
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
	// firstEvent is when the first event came that led to the reconcile, until a write has answered
	// it; zero: there was none. last is the plan that the reconcile came to; nil: to none.
	firstEvent time.Time
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
		policyController: op, owner: owner, state: state, retire: retire, existing: before,
		problems: map[string]plan.Problem{}, triedActions: map[string]bool{}, soughtKinds: kindSet{},
	}
}

// requireInputs declares the streams that the owner needs. The result is how long to
// wait for their first lists; 0: go on.
func (p *ownerReconciler) requireInputs(ctx context.Context, home *permissionset.Set) time.Duration {
	shared := p.owner != nil && p.ownerViews.SharesWatches(p.owner.GetNamespace())
	subject := ownerinputs.Subject{Name: p.state.subscriber.name, Owner: p.owner, Retire: p.retire, Queries: p.state.queries, SharesStreams: shared, Home: home}
	if !p.inputs.IsCurrent(p.state.inputs, subject) {
		s, wait := p.inputs.Plan(ctx, subject)
		if wait > 0 {
			return wait
		}
		s.Open(p.controller.options.Informers, p.state.subscriber)
		p.state.inputs = s
	}
	now := p.controller.now()
	syncing, doubtful := p.state.inputs.CheckSync(now)
	if !syncing {
		p.state.syncing = time.Time{}
		return doubtful
	}
	if p.state.syncing.IsZero() {
		p.state.syncing = now
	}
	return max(0, p.state.syncing.Add(p.syncGrace()).Sub(now))
}

// syncGrace is how long to wait for first lists. An owner that has never been told
// anything should not wait long: without conditions it looks fine.
func (p *ownerReconciler) syncGrace() time.Duration {
	if p.owner == nil || status.HasCondition(p.owner, v1alpha1.ConditionReady) {
		return syncGraceKnown
	}
	return syncGrace
}

// planAndWrite observes, plans and writes in turns, until a plan wants no other place
// than those that are observed, and has no action that was not tried in this reconcile. It
// returns that plan, or how long to wait for what is to be observed.
func (p *ownerReconciler) planAndWrite(ctx context.Context, home *permissionset.Set) (*plan.Plan, time.Duration, error) {
	for turn := 0; ; turn++ {
		if wait := p.requireInputs(ctx, home); wait > 0 {
			return nil, wait, nil
		}
		home = p.state.inputs.Home.Answer
		planned := p.makeTracedPlan(ctx)
		more := p.setQueries(planned)
		if more && turn < p.maxTurns(planned) {
			continue
		}
		progress, err := p.writePlan(ctx, planned)
		if err != nil {
			return nil, 0, err
		}
		if !progress || p.isCacheBehind || turn >= p.maxTurns(planned) {
			// What is still wanted, though it was tried and not refused: the cache does
			// not show its effect. Places that are to be observed have no stream yet that
			// would wake the owner.
			p.endConflicts(ctx)
			p.isCacheBehind = p.isCacheBehind || more || len(planned.Actions) > 0 || planned.OwnerMetadata != nil && !p.waits || slices.ContainsFunc(p.existing, existingObject.isHidden)
			return planned, 0, nil
		}
	}
}

func (p *ownerReconciler) makeTracedPlan(ctx context.Context) *plan.Plan {
	defer p.recordEvaluation(p.state.subscriber.name, p.controller.now())
	ctx, end := p.tracePlan(ctx)
	planned := p.makePlan(ctx)
	end(planned)
	return planned
}

func (p *ownerReconciler) makePlan(ctx context.Context) *plan.Plan {
	if p.owner == nil {
		return plan.Ensure(ctx, p.program, p.takeSnapshot())
	}
	planned := plan.Make(ctx, p.program, p.takeSnapshot())
	p.state.former = planned.Former // what is gone is not wanted by the next turn
	return planned
}

// maxTurns bounds the turns of a reconcile: one may unblock the next object of the graph, an
// object may need a second write, and places and records come first. What takes more
// is somebody who answers each write with another.
func (p *ownerReconciler) maxTurns(planned *plan.Plan) int {
	return 2*max(len(p.program.Children), len(planned.Children)) + 5
}

// writePlan carries out what a plan says, and says whether that has changed anything.
func (p *ownerReconciler) writePlan(ctx context.Context, planned *plan.Plan) (progress bool, err error) {
	if planned.OwnerMetadata != nil {
		if progress, err = p.writeOwnerMetadata(ctx, *planned.OwnerMetadata); err != nil {
			return false, err
		}
	}
	for _, action := range planned.Actions {
		did, err := p.applyAction(ctx, action)
		if err != nil {
			return false, err
		}
		progress = progress || did
	}
	return progress, nil
}

// setQueries notes the places that a plan wants beyond those that are known for sure,
// and says whether they are others than before.
func (p *ownerReconciler) setQueries(planned *plan.Plan) bool {
	var wants []plan.Query
	for _, want := range planned.Queries {
		if !p.isOwnPlace(want) {
			wants = append(wants, want)
		}
	}
	if ownerinputs.SameQueries(wants, p.state.queries) {
		return false
	}
	p.state.queries = wants
	return true
}

// isOwnPlace says whether a place is one that is looked at whatever the plan is.
func (p *ownerReconciler) isOwnPlace(want plan.Query) bool {
	if p.owner == nil || want.Names != nil || want.Namespace != "" && want.Namespace != p.owner.GetNamespace() {
		return false
	}
	child := policy.FindChild(p.program.Children, want.Child)
	return child != nil && !ownerinputs.IsElsewhere(child) && p.state.inputs.IsObserved(want.Location)
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
