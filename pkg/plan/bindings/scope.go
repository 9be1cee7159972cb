// Package bindings is what the expressions of a policy see while one plan is made, and what
// becomes of an expression that fails. It also says what the watches of a policy mean for an
// owner, which their expressions decide.
//
// The package is pure: no I/O, no goroutine, no clock, no log. A Scope belongs to one goroutine.
package bindings

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/internal/timing"
	"github.com/ambit-dev/ambit/pkg/plan/problems"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// Scope is what expressions see, as far as it is known at the moment.
type Scope struct {
	program *policy.Program
	// Vars are the values by name. Whoever plans sets those of children and watches.
	Vars cel.Activation
	// failed are the variables that could not be computed, nil if none.
	failed map[string]*Failure
}

// Failure is an expression that could not be evaluated.
type Failure struct {
	// Text has the place, the part of the policy, and the error.
	Text string
	// IsMissing is true if all that is wrong is a field that is not there.
	IsMissing bool
	// isLimit is true if the evaluation was stopped at a limit.
	isLimit bool
}

// Error returns the text.
func (f *Failure) Error() string { return f.Text }

// Problem returns the failure as a problem.
func (f *Failure) Problem() *problems.Problem {
	if f.isLimit {
		return &problems.Problem{Reason: v1alpha1.ReasonLimitExceeded, Message: f.Text, Terminal: true}
	}
	return &problems.Problem{Reason: v1alpha1.ReasonExpressionFailed, Message: f.Text, Terminal: true}
}

// BindOwner returns what expressions see of an owner itself: owner, policy, and the variables that
// read no watch. A variable that fails is left out. The clock is asked for the time; nil: what asks it is
// left out as well.
func BindOwner(ctx context.Context, program *policy.Program, owner *unstructured.Unstructured, clock *timing.Clock) Scope {
	vars := make(cel.Activation, 4+len(program.Variables)+len(program.Children)+len(program.Watches))
	vars["owner"] = program.Owner.See(owner.Object)
	vars["policy"] = map[string]any{"name": program.Name, "namespace": program.Namespace}
	if clock != nil {
		vars[cel.ClockVar] = cel.BindClock(clock)
	}
	s := Scope{program: program, Vars: vars}
	for _, v := range program.Variables {
		if len(v.Watches) == 0 && (clock != nil || !v.Timed) {
			s.BindVariable(ctx, v)
		}
	}
	return s
}

// BindPolicy returns what expressions see that concern no owner.
func BindPolicy(program *policy.Program) Scope {
	return Scope{program: program, Vars: cel.Activation{"policy": map[string]any{"name": program.Name, "namespace": program.Namespace}}}
}

// BindVariable computes a variable, and notes it if that fails.
func (s *Scope) BindVariable(ctx context.Context, v policy.Variable) {
	what := "variables." + v.Name
	value, err := Evaluate(s, what, v.Expr, func() (any, error) { return v.Expr.Eval(ctx, s.Vars) })
	if err == nil && value == cel.Absent {
		err = s.Fail(what, errors.New("the value is an absent optional"))
	}
	if err == nil {
		s.Vars[v.Name] = value
		return
	}
	s.FailVariable(v.Name, err)
}

// FailVariable notes that a variable has no value.
func (s *Scope) FailVariable(name string, f *Failure) {
	if s.failed == nil {
		s.failed = map[string]*Failure{}
	}
	s.failed[name] = f
}

// BindElement lets expressions see an element of a child with forEach; of another, it does nothing.
func (s *Scope) BindElement(c *policy.Child, element any) {
	if c.ForEach != nil {
		s.Vars[c.ForEach.As] = element
	}
}

// UnbindElement takes back what BindElement did.
func (s *Scope) UnbindElement(c *policy.Child) {
	if c.ForEach != nil {
		delete(s.Vars, c.ForEach.As)
	}
}

// ForgetVariable lets expressions see no value of a name, and no failure.
func (s *Scope) ForgetVariable(name string) {
	delete(s.Vars, name)
	delete(s.failed, name)
}

// BindAccess lets expressions see what was refused, as `access`.
func (s *Scope) BindAccess(denied []v1alpha1.DeniedAccess) {
	list := make([]any, len(denied))
	for i, d := range denied {
		list[i] = map[string]any{
			"verb": d.Verb, "group": d.Group, "resource": d.Resource,
			"namespace": d.Namespace, "name": d.Name, "message": d.Message,
		}
	}
	s.Vars["access"] = map[string]any{"denied": list}
}

// Expression is what of a compiled expression or template says which variables
// it reads, and which it only asks ready(...) of.
type Expression interface {
	FreeVariables() []string
	AskedReady() []string
}

// Evaluate runs an evaluation, unless it reads a variable that failed. what is the
// part of the policy, as policy.Program.Place wants it.
func Evaluate[T any](s *Scope, what string, x Expression, eval func() (T, error)) (T, *Failure) {
	var zero T
	if f := s.FailedVariable(x); f != nil {
		return zero, f
	}
	value, err := eval()
	if err != nil {
		return zero, s.Fail(what, err)
	}
	return value, nil
}

// AskKeepWhen asks keepWhen of a child of one of its objects.
func (s *Scope) AskKeepWhen(ctx context.Context, c *policy.Child, obj *unstructured.Unstructured) (bool, *Failure) {
	s.Vars["object"] = c.See(obj.Object)
	defer delete(s.Vars, "object")
	return Evaluate(s, "children."+c.ID+".keepWhen", c.KeepWhen, func() (bool, error) {
		keep, err := c.KeepWhen.EvalBool(ctx, s.Vars)
		if err != nil {
			err = fmt.Errorf("for %s %q: %w", obj.GetKind(), obj.GetName(), err)
		}
		return keep, err
	})
}

// FailedVariable returns why a variable that x reads has no value; nil if all have.
func (s *Scope) FailedVariable(x Expression) *Failure {
	if s.failed == nil {
		return nil
	}
	for _, name := range x.FreeVariables() {
		if f, ok := s.failed[name]; ok {
			return f
		}
	}
	return nil
}

// stoppedAtLimit reports whether an evaluation was stopped at a limit of cost, time or memory.
func stoppedAtLimit(err error) bool {
	failed, ok := errors.AsType[*cel.EvalError](err)
	return ok && failed.Budget
}

// Fail makes the failure of a part of the policy; of a template, it names the leaf.
func (s *Scope) Fail(what string, err error) *Failure {
	if leaf, ok := errors.AsType[cel.LeafError](err); ok && leaf.Path != "" {
		what, err = what+"."+leaf.Path, leaf.Err
	}
	f := &Failure{Text: fmt.Sprintf("%s: %s: %v", s.program.Place(what), what, err), IsMissing: cel.IsNoSuchKey(err), isLimit: stoppedAtLimit(err)}
	if failed, ok := errors.AsType[*cel.EvalError](err); ok && failed.Message == versionHidden && s.program.HidesVersions() {
		f.Text += ": the resourceVersion of the owner and of children is not seen, because Ambit's own writes change it; " +
			"use metadata.generation, which changes with the spec, or the fields that matter"
	}
	return f
}

// versionHidden is the message of an expression that reads the resourceVersion where it is not
// seen. That the compiler finds most of these is no reason not to say why.
const versionHidden = "no such key: resourceVersion"
