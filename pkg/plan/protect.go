package plan

import (
	"context"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/bindings"
)

// checkProtection says why the deletion of the owner is held back; nil if it is not. The
// children are resolved for what expressions see of them.
func (p *reporter) checkProtection(ctx context.Context) *Problem {
	protect := p.program.Protect
	switch {
	case protect == nil:
		return nil
	case protect.While == nil:
		return &Problem{Reason: v1alpha1.ReasonProtected, Terminal: true,
			Message: "the policy does not compile, so that it cannot be said whether it still protects the owner: mend the policy, or run `ambit cleanup` with it"}
	}
	p.resolveAll(ctx)
	p.forgetBlocked()
	holds, f := bindings.Evaluate(&p.scope, "protect.while", protect.While, func() (bool, error) { return protect.While.EvalBool(ctx, p.scope.Vars) })
	switch unseen := p.unseenBy(protect.While); {
	case f != nil && unseen != nil:
		return &Problem{Reason: unseen.Reason, Denied: unseen.Denied, Terminal: unseen.Terminal,
			Message: "whether the owner is protected is not known: " + unseen.Message}
	case f != nil:
		return &Problem{Reason: v1alpha1.ReasonProtected, Message: "whether the owner is protected cannot be said: " + f.Text}
	case !holds:
		return nil
	}
	return &Problem{Reason: v1alpha1.ReasonProtected, Message: p.protectMessage(ctx)}
}

func (p *reporter) protectMessage(ctx context.Context) string {
	message := "the owner is protected as long as " + oneLine(p.program.Protect.While.Source())
	if f := p.textOf(ctx, "protect.message", p.program.Protect.Message, &message); f != nil {
		return message + " (" + f.Text + ")"
	}
	return message
}

// protectedPlan leaves everything as it is, and says why.
func (p *reporter) protectedPlan(ctx context.Context, problem *Problem) *Plan {
	p.listQueries()
	p.blockers.Add(*problem)
	return p.sayCleanup(ctx, &Plan{Partial: true, Queries: p.queries, Children: p.childStates()})
}
