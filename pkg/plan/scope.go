package plan

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// scope is what expressions see, as far as it is known at the moment.
type scope struct {
	program *policy.Program
	vars    cel.Activation
	// failed are the variables that could not be computed, nil if none.
	failed map[string]*failure
}

// failure is an expression that could not be evaluated.
type failure struct {
	// text has the place, the part of the policy, and the error.
	text string
	// missing is true if all that is wrong is a field that is not there.
	missing bool
	// limit is true if the evaluation was stopped at a limit.
	limit bool
}

// Error returns the text.
func (f *failure) Error() string { return f.text }

func (f *failure) problem() *Problem {
	if f.limit {
		return &Problem{Reason: v1alpha1.ReasonLimitExceeded, Message: f.text, Terminal: true}
	}
	return &Problem{Reason: v1alpha1.ReasonExpressionFailed, Message: f.text, Terminal: true}
}

// bind returns what expressions see of an owner itself: owner, policy, and the variables that
// read no watch. A variable that fails is left out.
func bind(ctx context.Context, program *policy.Program, owner *unstructured.Unstructured) scope {
	vars := make(cel.Activation, 3+len(program.Variables)+len(program.Children)+len(program.Watches))
	if owner != nil {
		vars["owner"] = program.Owner.See(owner.Object)
	}
	vars["policy"] = map[string]any{"name": program.Name, "namespace": program.Namespace}
	s := scope{program: program, vars: vars}
	for _, v := range program.Variables {
		if len(v.Watches) == 0 {
			s.bindVariable(ctx, v)
		}
	}
	return s
}

func (s *scope) bindVariable(ctx context.Context, v policy.Variable) {
	what := "variables." + v.Name
	value, err := evaluate(s, what, v.Expr, func() (any, error) { return v.Expr.Eval(ctx, s.vars) })
	if err == nil && value == cel.Absent {
		err = s.fail(what, errors.New("the value is an absent optional"))
	}
	if err == nil {
		s.vars[v.Name] = value
		return
	}
	s.failVariable(v.Name, err)
}

func (s *scope) failVariable(name string, f *failure) {
	if s.failed == nil {
		s.failed = map[string]*failure{}
	}
	s.failed[name] = f
}

// expression is what of a compiled expression or template says which variables
// it reads, and which it only asks ready(...) of.
type expression interface {
	Vars() []string
	Asked() []string
}

// evaluate runs an evaluation, unless it reads a variable that failed. what is the
// part of the policy, as policy.Program.Place wants it.
func evaluate[T any](s *scope, what string, x expression, eval func() (T, error)) (T, *failure) {
	var zero T
	if f := s.failedVariable(x); f != nil {
		return zero, f
	}
	value, err := eval()
	if err != nil {
		return zero, s.fail(what, err)
	}
	return value, nil
}

func (s *scope) failedVariable(x expression) *failure {
	if s.failed == nil {
		return nil
	}
	for _, name := range x.Vars() {
		if f, ok := s.failed[name]; ok {
			return f
		}
	}
	return nil
}

// isLimit says whether an evaluation was stopped at a limit of cost, time or memory.
func isLimit(err error) bool {
	failed, ok := errors.AsType[*cel.EvalError](err)
	return ok && failed.Budget
}

// fail makes the failure of a part of the policy; of a template, it names the leaf.
func (s *scope) fail(what string, err error) *failure {
	if leaf, ok := errors.AsType[cel.LeafError](err); ok && leaf.Path != "" {
		what, err = what+"."+leaf.Path, leaf.Err
	}
	f := &failure{text: fmt.Sprintf("%s: %s: %v", s.program.Place(what), what, err), missing: cel.IsNoSuchKey(err), limit: isLimit(err)}
	if failed, ok := errors.AsType[*cel.EvalError](err); ok && failed.Message == versionHidden && s.program.HidesVersions() {
		f.text += ": the resourceVersion of the owner and of children is not seen, because Ambit's own writes change it; " +
			"use metadata.generation, which changes with the spec, or the fields that matter"
	}
	return f
}

// versionHidden is the message of an expression that reads the resourceVersion where it is not
// seen. That the compiler finds most of these is no reason not to say why.
const versionHidden = "no such key: resourceVersion"
