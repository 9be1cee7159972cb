package engine

import (
	"context"
	"encoding/json"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/status"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/watch"
)

// statusProblem is the key of a refused status write among the problems; no
// child has it.
const statusProblem = "status of the owner"

// writeStatus writes the owner's status if the plan changes it. Where it may not
// be written that is logged, for there is no better place for it.
func (p *pass) writeStatus(ctx context.Context, planned *plan.Plan) error {
	next := status.Next(p.owner, p.program, planned, p.engine.now())
	old := status.Of(p.owner)
	if status.Equal(old, next) || p.state.status.covers(old, next) {
		return nil
	}
	if _, refused := p.state.refused[statusProblem]; refused {
		if problem, still := p.state.refusedStill(statusProblem, statusText(next), p.engine.now()); still {
			p.problems[statusProblem] = problem
			return nil
		}
	}
	found, ok, err := p.engine.kinds.lookup(p.program.Owner.GVK)
	if !ok {
		return err
	}
	objects := p.engine.options.Client.Resource(found.resource).Namespace(p.owner.GetNamespace())
	written, err := status.Write(ctx, objects, p.owner, next, p.manager)
	switch {
	case apierrors.IsConflict(err):
		p.stale = true
		return nil
	case apierrors.IsNotFound(err):
		// The owner is gone, and its event will say so; or its kind has no status.
		p.state.status = settledStatus{wanted: next, kept: old}
		ctrllog.FromContext(ctx).V(1).Info("the owner has no status to write", "reason", err.Error())
		return nil
	case err != nil:
		p.statusRefused(ctx, next, err)
		if !apierrors.IsInvalid(err) || planned.Partial {
			return nil
		}
		// The policy's part of the status is what is wrong: say that, in Ambit's own.
		return p.writeStatus(ctx, planned.Stalled(v1alpha1.ReasonInvalid, err.Error()))
	}
	if !planned.Partial {
		delete(p.state.refused, statusProblem)
	}
	p.tell(ctx, planned)
	p.state.status = settledStatus{wanted: next, kept: status.Of(written)}
	p.engine.options.Streams.Observe(p.ownerKey(found), written, p.operator)
	return nil
}

func (p *pass) statusRefused(ctx context.Context, next map[string]any, err error) {
	problem := plan.Problem{Reason: v1alpha1.ReasonUnavailable, Message: err.Error()}
	p.problems[statusProblem] = problem
	level := 1
	if p.state.refuse(statusProblem, statusText(next), problem, p.engine.now()) && ctx.Err() == nil {
		level = 0
	}
	ctrllog.FromContext(ctx).V(level).Info("the owner's status cannot be written", "reason", err.Error())
}

// tell logs that an owner came to need somebody to act, or no longer does.
func (p *pass) tell(ctx context.Context, planned *plan.Plan) {
	stalled := slices.IndexFunc(planned.Conditions, func(c metav1.Condition) bool { return c.Type == v1alpha1.ConditionStalled })
	was := status.HasCondition(p.owner, v1alpha1.ConditionStalled)
	log := ctrllog.FromContext(ctx)
	switch {
	case stalled >= 0:
		log.Info("owner is stalled", "reason", planned.Conditions[stalled].Reason, "message", planned.Conditions[stalled].Message)
	case was:
		log.Info("owner is no longer stalled")
	}
}

// statusText is equal for statuses that say the same.
func statusText(next map[string]any) string {
	text, _ := json.Marshal(status.Timeless(next)) // JSON-like by construction
	return string(text)
}

func (p *pass) ownerKey(owner kind) watch.Key {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ownerNeed(owner, p.streamOfLocked(p.owner.GetNamespace())).Key
}
