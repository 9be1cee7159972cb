package controller

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/internal/status"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// pass is one run over one owner, or over what the policy itself ensures. It lives on
// its worker's goroutine.
type pass struct {
	*operator
	owner *unstructured.Unstructured // nil for what is ensured
	state *ownerState
	// retire: the policy does not want the owner any more.
	retire bool
	// problems are the writes that are refused now, by plan.Snapshot.Problems' keys.
	problems map[string]plan.Problem
	tried    map[string]bool // actions of this pass
	// doubted: a write was refused for want of a right, and a review is to confirm
	// it before anything is said.
	doubted bool
	met     []met
	// confirmed says of objects of the record whether they are there, as of this pass.
	confirmed map[inventory.ObjectKey]bool
	verified  time.Time // when a write was sent whose answer was the owner as it is; zero: none was
	stale     bool      // an answer showed that the cache is behind
	waits     bool      // the owner's metadata is held back, and again says until when
	again     time.Time // when to look at what was held back, or is not over; zero: there is nothing
	// event is when the first event came that led to the pass, until a write has answered
	// it; zero: there was none. last is the plan that the pass came to; nil: to none.
	event time.Time
	last  *plan.Plan
	gone  bool // the owner was let go: nothing more is to be said of it
	// sought are kinds that were looked up for single objects.
	sought kindSet
}

func (op *operator) newPass(owner *unstructured.Unstructured, state *ownerState, retire bool) *pass {
	before := state.met
	state.met = nil
	for i := range before {
		before[i].before = true
	}
	return &pass{
		operator: op, owner: owner, state: state, retire: retire, met: before,
		problems: map[string]plan.Problem{}, tried: map[string]bool{}, confirmed: map[inventory.ObjectKey]bool{}, sought: kindSet{},
	}
}

// observe declares the streams that the owner needs. The result is how long to
// wait for their first lists; 0: go on.
func (p *pass) observe(ctx context.Context, home *rights) time.Duration {
	shared := p.owner != nil && p.shared(p.owner.GetNamespace())
	if !p.holds(p.state.sources, shared, home) {
		s, wait := p.layOut(ctx, shared, home)
		if wait > 0 {
			return wait
		}
		s.views = p.engine.options.Informers.Require(p.state.subscriber, s.needs)
		for i, view := range s.views {
			if view.State() == informer.Forbidden { // it is permitted by now, as far as is known
				p.engine.options.Informers.Retry(s.needs[i].Key)
			}
		}
		p.state.sources = s
	}
	now := p.engine.now()
	syncing, doubtful := p.state.sources.syncing(now)
	if !syncing {
		p.state.syncing = time.Time{}
		return doubtful
	}
	if p.state.syncing.IsZero() {
		p.state.syncing = now
	}
	return max(0, p.state.syncing.Add(p.grace()).Sub(now))
}

// grace is how long to wait for first lists. An owner that has never been told
// anything should not wait long: without conditions it looks fine.
func (p *pass) grace() time.Duration {
	if p.owner == nil || status.HasCondition(p.owner, v1alpha1.ConditionReady) {
		return syncGraceKnown
	}
	return syncGrace
}

// converge observes, plans and writes in turns, until a plan wants no other place
// than those that are observed, and has no action that was not tried in this pass. It
// returns that plan, or how long to wait for what is to be observed.
func (p *pass) converge(ctx context.Context, home *rights) (*plan.Plan, time.Duration, error) {
	for turn := 0; ; turn++ {
		if wait := p.observe(ctx, home); wait > 0 {
			return nil, wait, nil
		}
		home = p.state.sources.home.answer
		planned := p.plan(ctx)
		more := p.wantsMore(planned)
		if more && turn < p.turns(planned) {
			continue
		}
		progress, err := p.write(ctx, planned)
		if err != nil {
			return nil, 0, err
		}
		if !progress || p.stale || turn >= p.turns(planned) {
			// What is still wanted, though it was tried and not refused: the cache does
			// not show its effect. Places that are to be observed have no stream yet that
			// would wake the owner.
			p.endConflicts(ctx)
			p.stale = p.stale || more || len(planned.Actions) > 0 || planned.OwnerMetadata != nil && !p.waits || slices.ContainsFunc(p.met, met.isHidden)
			return planned, 0, nil
		}
	}
}

func (p *pass) plan(ctx context.Context) *plan.Plan {
	defer p.recordEvaluation(p.state.subscriber.name, p.engine.now())
	ctx, end := p.tracePlan(ctx)
	planned := p.make(ctx)
	end(planned)
	return planned
}

func (p *pass) make(ctx context.Context) *plan.Plan {
	if p.owner == nil {
		return plan.Ensure(ctx, p.program, p.snapshot())
	}
	planned := plan.Make(ctx, p.program, p.snapshot())
	p.state.former = planned.Former // what is gone is not wanted by the next turn
	return planned
}

// turns bounds the turns of a pass: one may unblock the next object of the graph, an
// object may need a second write, and places and records come first. What takes more
// is somebody who answers each write with another.
func (p *pass) turns(planned *plan.Plan) int {
	return 2*max(len(p.program.Children), len(planned.Children)) + 5
}

// write carries out what a plan says, and says whether that has changed anything.
func (p *pass) write(ctx context.Context, planned *plan.Plan) (progress bool, err error) {
	if planned.OwnerMetadata != nil {
		if progress, err = p.mark(ctx, *planned.OwnerMetadata); err != nil {
			return false, err
		}
	}
	for _, action := range planned.Actions {
		did, err := p.act(ctx, action)
		if err != nil {
			return false, err
		}
		progress = progress || did
	}
	return progress, nil
}

// wantsMore notes the places that a plan wants beyond those that are known for sure,
// and says whether they are others than before.
func (p *pass) wantsMore(planned *plan.Plan) bool {
	var wants []plan.Query
	for _, want := range planned.Queries {
		if !p.isHome(want) {
			wants = append(wants, want)
		}
	}
	if slices.EqualFunc(wants, p.state.wants, isSameWant) {
		return false
	}
	p.state.wants = wants
	return true
}

// isHome says whether a place is one that is looked at whatever the plan is.
func (p *pass) isHome(want plan.Query) bool {
	if p.owner == nil || want.Names != nil || want.Namespace != "" && want.Namespace != p.owner.GetNamespace() {
		return false
	}
	child := policy.FindChild(p.program.Children, want.Child)
	if child == nil || isElsewhere(child) {
		return false
	}
	_, observed := p.state.sources.children[want.Location]
	return observed
}

// isElsewhere says whether only a plan says where the objects of a child are.
func isElsewhere(child *policy.Child) bool {
	return child.CrossNamespace || child.Existing == v1alpha1.ExistingMerge
}

// lookAgain has the owner looked at again at a time, if nothing happens before.
func (p *pass) lookAgain(at time.Time) {
	if p.again.IsZero() || at.Before(p.again) {
		p.again = at
	}
}

// next says when to look at the owner again if nothing happens.
func (p *pass) next(planned *plan.Plan) time.Duration {
	var wait time.Duration
	sooner := func(d time.Duration) {
		if d > 0 && (wait == 0 || d < wait) {
			wait = d
		}
	}
	sooner(planned.RequeueAfter)
	now := p.engine.now()
	for key := range p.problems {
		if refused, ok := p.state.refused[key]; ok {
			sooner(max(refused.until.Sub(now), time.Millisecond))
		}
	}
	if !p.again.IsZero() {
		sooner(max(p.again.Sub(now), time.Millisecond))
	}
	if !p.stale {
		p.state.failures = 0
		return wait
	}
	sooner(backoff(p.state.failures))
	p.state.failures++
	return wait
}
