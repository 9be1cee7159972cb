package engine

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/pkg/internal/apply"
	"github.com/ambit-dev/ambit/pkg/internal/status"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/watch"
)

// pass is one run over one owner. It lives on its worker's goroutine.
type pass struct {
	*operator
	owner    *unstructured.Unstructured
	state    *ownerState
	problems map[string]plan.Problem
	tried    map[string]bool // actions of this pass
	stale    bool            // an answer showed that the cache is behind
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
	p := &pass{operator: op, owner: owner, state: op.state(name), problems: map[string]plan.Problem{}, tried: map[string]bool{}}
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
	return max(0, p.state.syncing.Add(syncGrace).Sub(now))
}

// converge plans and applies in turns, until a plan has no action that was not
// tried in this pass. It returns that plan.
func (p *pass) converge(ctx context.Context) (*plan.Plan, error) {
	for {
		snap := p.snapshot(p.state.sources)
		snap.Owner, snap.Problems, snap.Settled = p.owner, p.problems, p.state.settled
		planned := plan.Make(ctx, p.program, snap)
		progress := false
		for _, action := range planned.Actions {
			did, err := p.act(ctx, action)
			if err != nil {
				return nil, err
			}
			progress = progress || did
		}
		if !progress || p.stale {
			return planned, nil
		}
	}
}

// act carries out an action, unless it was tried in this pass already.
func (p *pass) act(ctx context.Context, action plan.Action) (did bool, err error) {
	id := fmt.Sprintf("%s %s %s %s", action.Verb, action.GVK, action.Name, action.Digest)
	if p.tried[id] {
		return false, nil
	}
	p.tried[id] = true
	found, ok, err := p.engine.kinds.lookup(action.GVK)
	if !ok {
		return false, err
	}
	applier := apply.Applier{Client: p.engine.options.Client, Manager: p.manager, Identity: p.engine.options.Identity}
	outcome, err := applier.Do(ctx, action, apply.Target{Resource: found.resource, OwnerUID: p.owner.GetUID()})
	if err != nil {
		return false, err
	}
	p.take(ctx, action, outcome)
	return true, nil
}

// take lets the next plan know how an action ended.
func (p *pass) take(ctx context.Context, action plan.Action, outcome apply.Outcome) {
	log := ctrllog.FromContext(ctx).WithValues("verb", action.Verb, "kind", action.GVK.Kind, "object", action.Name)
	switch {
	case outcome.Problem != nil:
		p.problems[problemKey(action)] = *outcome.Problem
		log.Info("refused", "reason", outcome.Problem.Reason, "message", outcome.Problem.Message)
	case outcome.Stale:
		p.stale = true
		log.V(1).Info("the cache is behind; will try again")
	case outcome.Object != nil:
		p.settle(action, outcome.Object)
		p.engine.options.Streams.Observe(p.sourceKey(action), outcome.Object, p.state.subscriber)
		log.V(1).Info("done", "because", action.Reason)
	default:
		p.engine.options.Streams.Deleted(p.sourceKey(action), lastSeen(action), p.state.subscriber)
		log.V(1).Info("deleted", "because", action.Reason)
	}
}

// lastSeen is what an action says of the object that it deleted.
func lastSeen(action plan.Action) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(action.GVK)
	obj.SetNamespace(action.Namespace)
	obj.SetName(action.Name)
	obj.SetUID(action.UID)
	obj.SetResourceVersion(action.ResourceVersion)
	return obj
}

// settle remembers what the API server made of a desired object, where it is
// not what was asked for: asking again would change nothing.
func (p *pass) settle(action plan.Action, live *unstructured.Unstructured) {
	difference := plan.Diff(action.Object, live, p.manager)
	if len(difference) == 0 {
		delete(p.state.settled, live.GetUID())
		return
	}
	p.state.settled[live.GetUID()] = plan.Digest(difference)
}

// problemKey is as plan.Snapshot.Problems has it.
func problemKey(action plan.Action) string {
	if action.Child != "" {
		return action.Child
	}
	return plan.Leftover(action.GVK.Kind, action.Name)
}

// sourceKey is the stream that shows the object of an action.
func (p *pass) sourceKey(action plan.Action) watch.Key {
	at := p.state.sources.kinds[action.GVK]
	return p.state.sources.needs[at.need].Key
}

// writeStatus writes the owner's status if the plan changes it. Where it may not
// be written that is logged, for there is no better place for it.
func (p *pass) writeStatus(ctx context.Context, planned *plan.Plan) error {
	next := status.Next(p.owner, p.program, planned, p.engine.now())
	old := status.Of(p.owner)
	if status.Equal(old, next) || p.state.status.covers(old, next) {
		return nil
	}
	found, ok, err := p.engine.kinds.lookup(p.program.Owner.GVK)
	if !ok {
		return err
	}
	objects := p.engine.options.Client.Resource(found.resource).Namespace(p.owner.GetNamespace())
	written, err := status.Write(ctx, objects, p.owner, next, p.manager)
	if apierrors.IsConflict(err) {
		p.stale = true
		return nil
	}
	if err != nil {
		p.problems[statusProblem] = plan.Problem{Message: err.Error()}
		ctrllog.FromContext(ctx).Info("the owner's status cannot be written", "reason", err.Error())
		return nil
	}
	p.state.status = settledStatus{wanted: next, kept: status.Of(written)}
	p.engine.options.Streams.Observe(p.ownerKey(found), written, p.operator)
	return nil
}

// statusProblem is the key of a refused status write among the problems; no
// child has it.
const statusProblem = "status of the owner"

func (p *pass) ownerKey(owner kind) watch.Key {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ownerNeed(owner, p.streamOfLocked(p.owner.GetNamespace())).Key
}

// next says when to look at the owner again if nothing happens.
func (p *pass) next(planned *plan.Plan) time.Duration {
	if len(p.problems) > 0 || p.stale {
		return p.state.retry()
	}
	p.state.failures = 0
	return planned.RequeueAfter
}
