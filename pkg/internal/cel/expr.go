package cel

import (
	"context"
	"maps"
	"slices"
	"time"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox"
	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/jsonvalue"
	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/meter"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
)

// Activation binds variables to JSON-like Go values, or to CEL values. It must
// not be changed while an evaluation uses it.
type Activation map[string]any

var _ interpreter.Activation = Activation(nil)

// ResolveName implements interpreter.Activation.
func (a Activation) ResolveName(name string) (any, bool) {
	value, ok := a[name]
	return value, ok
}

// Parent implements interpreter.Activation.
func (a Activation) Parent() interpreter.Activation { return nil }

// program is what an expression runs: a sandbox.Program.
type program interface {
	EvaluateWith(ctx context.Context, variables interpreter.Activation) (ref.Val, error)
}

// Expr is a compiled expression. It is immutable and safe for concurrent use.
type Expr struct {
	source    string
	program   program
	root      ast.Expr
	output    *celgo.Type
	variables []string
	asked     []string
	asksTime  bool
	reads     map[string]*fields.Set
}

// Source returns the text of the expression.
func (x *Expr) Source() string { return x.source }

// FreeVariables returns the free variables, sorted. Not to be changed.
func (x *Expr) FreeVariables() []string { return x.variables }

// AskedReady returns the names in ready(x), sorted. By that alone a name is not among
// Vars. Not to be changed.
func (x *Expr) AskedReady() []string { return x.asked }

// AsksTime reports whether the expression asks ClockVar.
func (x *Expr) AsksTime() bool { return x.asksTime }

// FieldsRead returns for each free variable which of its fields the expression can read.
// Where that is unknown, it is everything below. Not to be changed.
func (x *Expr) FieldsRead() map[string]*fields.Set { return x.reads }

// OutputType returns the type that the checker found.
func (x *Expr) OutputType() *celgo.Type { return x.output }

// Absent is the result of an expression that gives an optional without a value.
var Absent = jsonvalue.Absent

// Eval evaluates the expression. The result is a JSON-like Go value that the
// caller owns, or Absent. Errors are *EvalError.
func (x *Expr) Eval(ctx context.Context, a Activation) (any, error) {
	value, err := x.program.EvaluateWith(ctx, a)
	if err != nil {
		return nil, x.evalError(err)
	}
	result, err := sandbox.ConvertValue(ctx, value)
	if err != nil {
		return nil, x.evalError(err)
	}
	return result, nil
}

// EvalBool is Eval for an expression that must give a bool.
func (x *Expr) EvalBool(ctx context.Context, a Activation) (bool, error) {
	b, err := evalAs[types.Bool](ctx, x, a, "bool")
	return bool(b), err
}

// EvalString is Eval for an expression that must give a string.
func (x *Expr) EvalString(ctx context.Context, a Activation) (string, error) {
	s, err := evalAs[types.String](ctx, x, a, "string")
	if len(s) > meter.MaxResultBytes {
		return "", &EvalError{Source: x.source, Message: meter.ErrResultTooLarge.Error(), Budget: true}
	}
	return string(s), err
}

// EvalDuration is Eval for an expression that must give a duration.
func (x *Expr) EvalDuration(ctx context.Context, a Activation) (time.Duration, error) {
	d, err := evalAs[types.Duration](ctx, x, a, "duration")
	return d.Duration, err
}

// evalAs evaluates an expression that must give a T, which users call want.
func evalAs[T ref.Val](ctx context.Context, x *Expr, a Activation, want string) (T, error) {
	value, err := x.program.EvaluateWith(ctx, a)
	if err != nil {
		var none T
		return none, x.evalError(err)
	}
	result, ok := value.(T)
	if !ok {
		return result, x.wrongType(value, want)
	}
	return result, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
