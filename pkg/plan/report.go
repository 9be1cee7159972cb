package plan

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/plan/bindings"
)

// reporter says of the owner what the plan is and what keeps it from being ready: status,
// conditions, problems. It comes after all that is decided.
type reporter struct {
	*planner
	// unseen says why a child or watch, by id, or a variable that reads one, cannot be
	// seen: its input is blocked.
	unseen map[string]*Problem
}

// finishPlan evaluates what the policy says of the owner's status.
func (p *reporter) finishPlan(ctx context.Context, plan *Plan) {
	// While something blocks, what is missing may still come.
	pending := !p.blockers.IsEmpty()
	plan.Partial, plan.RequeueAfter = p.isPartial(), p.requeueAfter(ctx, pending)
	if !plan.Partial {
		plan.Status = p.renderStatus(ctx, pending)
	}
	plan.Conditions = p.ownerConditions(ctx, pending, plan.Partial)
	if p.program.Owner.SkipStatus {
		plan.Status, plan.Conditions = nil, nil
	}
	plan.Blockers = p.blockers.Sorted()
}

// childStates says how each object fares.
func (p *planner) childStates() []ChildState {
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

// renderStatus renders the template of the status; what fails is left out.
func (p *reporter) renderStatus(ctx context.Context, pending bool) map[string]any {
	if p.program.Status == nil {
		return nil
	}
	rendered, failed := p.program.Status.RenderPartial(ctx, p.scope.Vars)
	for _, leaf := range failed {
		if !pending {
			p.blockers.Add(*p.leafFailure(leaf).Problem())
		}
	}
	status, ok := rendered.(map[string]any)
	if !ok {
		return map[string]any{}
	}
	return status
}

// leafFailure blames a variable that failed, if one did that the status reads.
func (p *reporter) leafFailure(leaf cel.LeafError) *bindings.Failure {
	if f := p.scope.FailedVariable(p.program.Status); f != nil {
		return f
	}
	what := "status"
	if leaf.Path != "" {
		what += "." + leaf.Path
	}
	return p.scope.Fail(what, leaf.Err)
}

// minRequeue is the shortest requeueAfter: less is taken for it, so that one
// policy cannot keep the workers from the others.
const minRequeue = time.Second

func (p *reporter) requeueAfter(ctx context.Context, pending bool) time.Duration {
	x := p.program.RequeueAfter
	if x == nil {
		return 0
	}
	after, f := bindings.Evaluate(&p.scope, "requeueAfter", x, func() (time.Duration, error) { return x.EvalDuration(ctx, p.scope.Vars) })
	if f != nil && !pending {
		p.blockers.Add(*f.Problem())
	}
	if after <= 0 {
		return 0
	}
	return max(after, minRequeue)
}

// isExpired reports whether the owner is to be deleted. It is not while something is in the way of knowing:
// an object that cannot be seen, or of which it is not known whether it is one of a child, is not taken for absent.
func (p *reporter) isExpired(ctx context.Context) bool {
	x := p.program.Expire
	if _, refused := p.snapshot.Problems[KeyExpire]; x == nil || refused {
		return false
	}
	for i := range p.children {
		c := &p.children[i]
		if slices.Contains(x.FreeVariables(), c.ID) && !c.hasKnownNames() && p.mayHaveObjects(c) {
			return false
		}
	}
	expired, f := bindings.Evaluate(&p.scope, "expire", x, func() (bool, error) { return x.EvalBool(ctx, p.scope.Vars) })
	if f != nil && p.blockers.IsEmpty() {
		p.blockers.Add(*f.Problem())
	}
	return expired
}

// sayCleanup adds what is said of a deleted owner; of one that is only retired, the status
// is no longer ours.
func (p *reporter) sayCleanup(ctx context.Context, plan *Plan) *Plan {
	plan.Blockers = p.blockers.Sorted()
	if !p.snapshot.Retire && !p.program.Owner.SkipStatus && !plan.Done {
		plan.Conditions = p.ownerConditions(ctx, true, true)
	}
	return plan
}

// yieldTo waits for another policy to clean up after the owner. Whether that policy is
// still run nobody knows here; if it stays for longer than a moment, somebody has to act.
func (p *reporter) yieldTo(ctx context.Context, other string) *Plan {
	message := "policy %q has not cleaned up after this owner yet (annotation %s): waiting for it; if policy %q is gone, run: ambit cleanup -f <the file of policy %s>"
	if p.snapshot.OtherStays {
		message = "policy %q works on this owner and has children on record (annotation %s), so that this policy does not: let only one of the two select it, by owner.selector, owner.filter or scope; " +
			"if policy %q is gone, run: ambit cleanup -f <the file of policy %s>"
	}
	p.blockers.Add(Problem{Reason: v1alpha1.ReasonOtherPolicy, Terminal: p.snapshot.OtherStays,
		Message: fmt.Sprintf(message, other, v1alpha1.AnnotationChildren, other, other)})
	return p.sayCleanup(ctx, &Plan{Partial: true, Foreign: other})
}

// gatherBlockers collects what keeps the owner from being ready, beside what prune found.
func (p *reporter) gatherBlockers() {
	for _, w := range p.queries {
		if in := p.inputAt(w.Location, w.GVK); in.Blocked != nil {
			p.blockers.Add(*in.Blocked)
		}
	}
	p.eachReported(p.blockers.Add)
	for _, problem := range p.watchProblems {
		if problem != nil {
			p.blockers.Add(*problem)
		}
	}
	for i := range p.children {
		p.gatherChild(&p.children[i])
	}
	p.gatherWaiting()
}

func (p *reporter) gatherChild(c *child) {
	if c.problem != nil {
		p.blockers.Add(*c.problem)
	}
	for i := range c.instances {
		switch it := &c.instances[i]; {
		case it.problem != nil:
			p.blockers.Add(*it.problem)
		case it.progress != "":
			p.blockers.Add(Problem{Reason: it.state.Reason, Terminal: it.state.Reason == v1alpha1.ReasonChildFailed, Message: it.progress})
		}
	}
}

// gatherWaiting makes children that wait for each other block, which nothing else
// accounts for.
func (p *reporter) gatherWaiting() {
	if !p.blockers.IsEmpty() {
		return
	}
	for i := range p.children {
		if state := p.children[i].overallState(); state.State == Waiting {
			p.blockers.Add(Problem{Reason: state.Reason, Message: state.Message})
		}
	}
}
