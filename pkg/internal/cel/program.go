package cel

import (
	"context"
	"fmt"
	"sync"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apiserver/pkg/cel/library"
)

// bare has the functions of simple expressions, and no tracking of costs.
// Kubernetes' environment tracks them in every program, which makes reading a
// field ten times slower.
var bare = sync.OnceValues(func() (*celgo.Env, error) { return celgo.NewEnv(celgo.OptionalTypes()) })

// program makes the program of a checked expression. A simple one needs no bounds.
func (e *Env) program(checked *celgo.Ast, simple bool) (celgo.Program, error) {
	if !simple {
		return e.env.Program(checked,
			celgo.EvalOptions(celgo.OptOptimize),
			celgo.CostTracking(&library.CostEstimator{}),
			celgo.CostLimit(CostLimit),
			celgo.InterruptCheckFrequency(interruptEvery),
		)
	}
	env, err := bare()
	if err != nil {
		return nil, fmt.Errorf("making the environment of simple expressions: %w", err)
	}
	return env.Program(checked, celgo.EvalOptions(celgo.OptOptimize))
}

func (x *Expr) run(ctx context.Context, a Activation) (ref.Val, error) {
	if x.simple {
		value, _, err := x.program.Eval(a)
		return value, err
	}
	value, _, err := x.program.ContextEval(ctx, a)
	return value, err
}

// isSimple says whether evaluating an expression cannot cost much: it has at most
// simpleParts parts, no macro, and only functions that look at their arguments
// once at most and make nothing larger than these.
func isSimple(root ast.Expr) bool {
	parts, simple := 0, true
	ast.PreOrderVisit(root, ast.NewExprVisitor(func(e ast.Expr) {
		parts++
		switch e.Kind() {
		case ast.ComprehensionKind, ast.StructKind:
			simple = false
		case ast.CallKind:
			simple = simple && isSimpleFunction(e.AsCall().FunctionName())
		}
	}))
	return simple && parts <= simpleParts
}

const simpleParts = 64

func isSimpleFunction(name string) bool {
	switch name {
	case operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Conditional,
		operators.Equals, operators.NotEquals,
		operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
		operators.Index, operators.OptIndex, operators.OptSelect,
		"dyn", "size", "orValue", "hasValue", "value", "optional.of", "optional.none":
		return true
	}
	return false
}
