// Package ownerstatus evaluates what a policy says of its owner once it is decided what to do: status,
// conditions, and when to look again. What cannot be evaluated blocks the owner, unless it may still come.
//
// It knows what expressions see and what stands in the way, and nothing of children or actions. The package
// is pure: no I/O, no goroutine, no clock, no log.
package ownerstatus

import (
	"context"
	"slices"
	"time"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/plan/bindings"
	"github.com/ambit-dev/ambit/pkg/plan/problems"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// Evaluation evaluates what a policy says of one owner. It belongs to one goroutine.
type Evaluation struct {
	program *policy.Program
	// scope is what expressions see, and blockers is what stands in the way: both are the plan's, and
	// are changed.
	scope    *bindings.Scope
	blockers *problems.Set
	// unseen says why a child or watch, by id, or a variable that reads one, cannot be
	// seen: its input is blocked.
	unseen map[string]*problems.Problem
}

// NewEvaluation returns an evaluation in a scope. What fails is added to blockers.
func NewEvaluation(program *policy.Program, scope *bindings.Scope, blockers *problems.Set) *Evaluation {
	return &Evaluation{program: program, scope: scope, blockers: blockers}
}

// Circumstances are what the owner's conditions depend on, beside what expressions see.
type Circumstances struct {
	// Generation is the owner's.
	Generation int64
	// IsPending: something blocks, so that what is missing may still come.
	IsPending bool
	// IsPartial: the conditions of the policy are not evaluated.
	IsPartial bool
	// Pruning says why it is suspended; empty if it is not.
	Pruning string
}

// HideVariable takes what cannot be seen out of the scope: an expression that reads it fails, instead of taking it for
// absent. id is that of a child or watch, or the name of a variable.
func (e *Evaluation) HideVariable(id string, problem *problems.Problem) {
	if e.unseen == nil {
		e.unseen = map[string]*problems.Problem{}
	}
	e.unseen[id] = problem
	e.scope.ForgetVariable(id)
}

// IsHidden reports whether something was taken out of the scope.
func (e *Evaluation) IsHidden(id string) bool { return e.unseen[id] != nil }

// UnseenBy returns why something that an expression reads cannot be seen; nil if
// all can. Of several, the first by id.
func (e *Evaluation) UnseenBy(expressions ...bindings.Expression) *problems.Problem {
	if e.unseen == nil {
		return nil
	}
	var ids []string
	for _, x := range expressions {
		for _, id := range slices.Concat(x.FreeVariables(), x.AskedReady()) {
			if e.unseen[id] != nil {
				ids = append(ids, id)
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return e.unseen[slices.Min(ids)]
}

// IsPartial reports whether an input is still to come by itself, so that what would be
// said of the owner now is not worth saying.
func (e *Evaluation) IsPartial() bool {
	for _, problem := range e.unseen {
		if problem.Reason == v1alpha1.ReasonSyncing || problem.Reason == v1alpha1.ReasonUnavailable {
			return true
		}
	}
	return false
}

// RenderStatus renders the template of the status; what fails is left out, and is a blocker unless something is
// pending. Nil: the policy has none.
func (e *Evaluation) RenderStatus(ctx context.Context, pending bool) map[string]any {
	if e.program.Status == nil {
		return nil
	}
	rendered, failed := e.program.Status.RenderPartial(ctx, e.scope.Vars)
	for _, leaf := range failed {
		if !pending {
			e.blockers.Add(*e.leafFailure(leaf).Problem())
		}
	}
	status, ok := rendered.(map[string]any)
	if !ok {
		return map[string]any{}
	}
	return status
}

// leafFailure blames a variable that failed, if one did that the status reads.
func (e *Evaluation) leafFailure(leaf cel.LeafError) *bindings.Failure {
	if f := e.scope.FailedVariable(e.program.Status); f != nil {
		return f
	}
	what := "status"
	if leaf.Path != "" {
		what += "." + leaf.Path
	}
	return e.scope.Fail(what, leaf.Err)
}

// minRequeue is the shortest requeueAfter: less is taken for it, so that one
// policy cannot keep the workers from the others.
const minRequeue = time.Second

// RequeueAfter evaluates when to look again; 0 is not at all. What fails is a blocker unless something is pending.
func (e *Evaluation) RequeueAfter(ctx context.Context, pending bool) time.Duration {
	x := e.program.RequeueAfter
	if x == nil {
		return 0
	}
	after, f := bindings.Evaluate(e.scope, "requeueAfter", x, func() (time.Duration, error) { return x.EvalDuration(ctx, e.scope.Vars) })
	if f != nil && !pending {
		e.blockers.Add(*f.Problem())
	}
	if after <= 0 {
		return 0
	}
	return max(after, minRequeue)
}
