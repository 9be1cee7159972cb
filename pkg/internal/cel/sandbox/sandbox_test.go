package sandbox

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/meter"
)

// baseEnv is the environment that policies are evaluated in, without variables.
var baseEnv = sync.OnceValue(func() *celgo.Env {
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).StoredExpressionsEnv()
})

// planner makes programs in which fields are read as cel-go does.
var planner = sync.OnceValues(func() (*Planner, error) {
	return NewPlanner(baseEnv(), func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) { return i, nil })
})

// variables are those of an evaluation.
type variables map[string]any

// ResolveName implements interpreter.Activation.
func (v variables) ResolveName(name string) (any, bool) {
	value, ok := v[name]
	return value, ok
}

// Parent implements interpreter.Activation.
func (v variables) Parent() interpreter.Activation { return nil }

// check checks an expression over the variable owner.
func check(t testing.TB, source string) (*celgo.Env, *celgo.Ast) {
	t.Helper()
	env, err := baseEnv().Extend(celgo.Variable("owner", celgo.DynType))
	if err != nil {
		t.Fatal(err)
	}
	checked, issues := env.Compile(source)
	if issues.Err() != nil {
		t.Fatalf("%s: %v", source, issues.Err())
	}
	return env, checked
}

// mustPlan plans an expression over the variable owner.
func mustPlan(t testing.TB, source string) *Program {
	t.Helper()
	env, checked := check(t, source)
	p, err := planner()
	if err != nil {
		t.Fatal(err)
	}
	program, err := p.PlanProgram(env, checked)
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	return program
}

// evaluate runs a program and converts what it gives.
func evaluate(ctx context.Context, p *Program, owner any) (any, error) {
	value, err := p.EvaluateWith(ctx, variables{"owner": owner})
	if err != nil {
		return nil, err
	}
	return ConvertValue(ctx, value)
}

func wantStopped(t *testing.T, err error, text string) {
	t.Helper()
	var limit meter.LimitError
	if !errors.As(err, &limit) || !strings.Contains(limit.Error(), text) {
		t.Errorf("gives %v, want a stop with %q", err, text)
	}
}
