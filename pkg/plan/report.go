package plan

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/bindings"
	"github.com/ambit-dev/ambit/pkg/plan/ownerstatus"
)

// reporter says of the owner what the plan is and what keeps it from being ready: status,
// conditions, problems. It comes after all that is decided.
type reporter struct {
	*planner
	// evaluation is of what the policy says of the owner.
	evaluation *ownerstatus.Evaluation
}

func newReporter(p *planner) *reporter {
	return &reporter{planner: p, evaluation: ownerstatus.NewEvaluation(p.program, &p.scope, &p.blockers)}
}

// finishPlan evaluates what the policy says of the owner's status.
func (p *reporter) finishPlan(ctx context.Context, plan *Plan) {
	// While something blocks, what is missing may still come.
	pending := !p.blockers.IsEmpty()
	plan.Partial, plan.RequeueAfter = p.evaluation.IsPartial(), p.evaluation.RequeueAfter(ctx, pending)
	if !plan.Partial {
		plan.Status = p.evaluation.RenderStatus(ctx, pending)
	}
	plan.Conditions = p.ownerConditions(ctx, pending, plan.Partial)
	if p.program.Owner.SkipStatus {
		plan.Status, plan.Conditions = nil, nil
	}
	plan.Blockers = p.blockers.Sorted()
}

func (p *reporter) ownerConditions(ctx context.Context, pending, partial bool) []metav1.Condition {
	return p.evaluation.RenderConditions(ctx, ownerstatus.Circumstances{
		Generation: p.snapshot.Owner.GetGeneration(), IsPending: pending, IsPartial: partial, Pruning: p.suspended.ConditionText(),
	})
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
