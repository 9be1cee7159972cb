package engine

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/status"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// pass is one run over one owner. It lives on its worker's goroutine.
type pass struct {
	*operator
	owner *unstructured.Unstructured
	state *ownerState
	// problems are the writes that are refused now, by plan.Snapshot.Problems' keys.
	problems map[string]plan.Problem
	tried    map[string]bool // actions of this pass
	// met are objects of ours that the cache does not show.
	met   map[schema.GroupVersionKind][]*unstructured.Unstructured
	stale bool // an answer showed that the cache is behind
}

// reconcileOwner takes one owner through observe, plan, apply and status. The
// result is when to look again if nothing happens; 0: not at all.
func (op *operator) reconcileOwner(ctx context.Context, key Key) (time.Duration, error) {
	name := types.NamespacedName{Namespace: key.Namespace, Name: key.Name}
	owner, live := op.owner(key)
	if !live {
		return 0, nil
	}
	if owner == nil || !op.serves(ctx, owner) {
		op.forget(name)
		return 0, nil
	}
	p := &pass{
		operator: op, owner: owner, state: op.state(name),
		problems: map[string]plan.Problem{}, tried: map[string]bool{}, met: map[schema.GroupVersionKind][]*unstructured.Unstructured{},
	}
	if wait := p.observe(ctx); wait > 0 {
		return wait, nil
	}
	planned, err := p.converge(ctx)
	if err != nil {
		return 0, err
	}
	if err := p.writeStatus(ctx, planned); err != nil {
		return 0, err
	}
	return p.next(planned), nil
}

// observe declares the streams that the owner needs. The result is how long to
// wait for their first lists; 0: go on.
func (p *pass) observe(ctx context.Context) time.Duration {
	shared := p.shared(p.owner.GetNamespace())
	if !p.state.sources.holds(p.owner, shared) {
		s := p.sources(ctx, p.owner, shared)
		s.views = p.engine.options.Streams.Keep(p.state.subscriber, s.needs)
		p.state.sources = s
	}
	if !p.state.sources.syncing() {
		p.state.syncing = time.Time{}
		return 0
	}
	now := p.engine.now()
	if p.state.syncing.IsZero() {
		p.state.syncing = now
	}
	return max(0, p.state.syncing.Add(p.grace()).Sub(now))
}

// grace is how long to wait for first lists. An owner that has never been told
// anything should not wait long: without conditions it looks fine.
func (p *pass) grace() time.Duration {
	if status.HasCondition(p.owner, v1alpha1.ConditionReady) {
		return syncGraceKnown
	}
	return syncGrace
}

// converge plans and applies in turns, until a plan has no action that was not
// tried in this pass. It returns that plan.
func (p *pass) converge(ctx context.Context) (*plan.Plan, error) {
	// A turn may unblock the next child of the graph; a child may need a second
	// write. What takes more turns is somebody who answers each write with another.
	for turns := 2*len(p.program.Children) + 2; ; turns-- {
		planned := plan.Make(ctx, p.program, p.snapshot())
		progress := false
		for _, action := range planned.Actions {
			did, err := p.act(ctx, action)
			if err != nil {
				return nil, err
			}
			progress = progress || did
		}
		if !progress || p.stale || turns == 0 {
			// An action that is still wanted, though it was tried and not refused: the
			// cache does not show its effect.
			p.stale = p.stale || len(planned.Actions) > 0
			return planned, nil
		}
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
		sooner(max(p.state.refused[key].until.Sub(now), time.Millisecond))
	}
	if !p.stale {
		p.state.failures = 0
		return wait
	}
	sooner(backoff(p.state.failures))
	p.state.failures++
	return wait
}
