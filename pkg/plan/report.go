package plan

import (
	"context"
	"time"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
)

// reporter says of the owner what the plan is and what keeps it from being ready: status,
// conditions, problems. It comes after all that is decided.
type reporter struct {
	*planner
	// unseen says why a child or watch, by id, or a variable that reads one, cannot be
	// seen: its input is blocked.
	unseen map[string]*Problem
}

// report evaluates what the policy says of the owner's status, and makes the plan.
func (p *reporter) report(ctx context.Context) *Plan {
	// While something blocks, what is missing may still come.
	pending := len(p.blockers.list) > 0
	plan := &Plan{Actions: p.actions, Partial: p.partial(), RequeueAfter: p.requeueAfter(ctx, pending)}
	if !plan.Partial {
		plan.Status = p.status(ctx, pending)
	}
	plan.Conditions = p.conditions(ctx, pending, plan.Partial)
	if p.program.Owner.SkipStatus {
		plan.Status, plan.Conditions = nil, nil
	}
	plan.Children = p.states()
	plan.Queries, plan.OwnerMetadata, plan.Blockers = p.queries, p.ownerMetadata, p.blockers.sorted()
	return plan
}

// states says how each object fares.
func (p *planner) states() []ChildState {
	states := make([]ChildState, 0, len(p.children))
	for i := range p.children {
		c := &p.children[i]
		if len(c.instances) == 0 {
			states = append(states, c.state)
		}
		for k := range c.instances {
			states = append(states, c.instances[k].state)
		}
	}
	return states
}

// status renders the template of the status; what fails is left out.
func (p *reporter) status(ctx context.Context, pending bool) map[string]any {
	if p.program.Status == nil {
		return nil
	}
	rendered, failed := p.program.Status.RenderPartial(ctx, p.scope.vars)
	for _, leaf := range failed {
		if !pending {
			p.blockers.add(*p.leafFailure(leaf).problem())
		}
	}
	status, ok := rendered.(map[string]any)
	if !ok {
		return map[string]any{}
	}
	return status
}

// leafFailure blames a variable that failed, if one did that the status reads.
func (p *reporter) leafFailure(leaf cel.LeafError) *failure {
	if f := p.scope.failedVariable(p.program.Status); f != nil {
		return f
	}
	what := "status"
	if leaf.Path != "" {
		what += "." + leaf.Path
	}
	return p.scope.fail(what, leaf.Err)
}

// minRequeue is the shortest requeueAfter: less is taken for it, so that one
// policy cannot keep the workers from the others.
const minRequeue = time.Second

func (p *reporter) requeueAfter(ctx context.Context, pending bool) time.Duration {
	x := p.program.RequeueAfter
	if x == nil {
		return 0
	}
	after, f := evaluate(&p.scope, "requeueAfter", x, func() (time.Duration, error) { return x.EvalDuration(ctx, p.scope.vars) })
	if f != nil && !pending {
		p.blockers.add(*f.problem())
	}
	if after <= 0 {
		return 0
	}
	return max(after, minRequeue)
}
