package cel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox"
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
	Run(ctx context.Context, variables interpreter.Activation) (ref.Val, error)
}

// Expr is a compiled expression. It is immutable and safe for concurrent use.
type Expr struct {
	source    string
	program   program
	root      ast.Expr
	output    *celgo.Type
	variables []string
	asked     []string
	reads     map[string]*fields.Set
}

// Source is the text of the expression.
func (x *Expr) Source() string { return x.source }

// Vars are the free variables, sorted. Not to be changed.
func (x *Expr) Vars() []string { return x.variables }

// Asked are the names in ready(x), sorted. By that alone a name is not among
// Vars. Not to be changed.
func (x *Expr) Asked() []string { return x.asked }

// Reads says for each free variable which of its fields the expression can
// read. What cannot be told is taken for everything below. Not to be changed.
func (x *Expr) Reads() map[string]*fields.Set { return x.reads }

// OutputType is the type that the checker found.
func (x *Expr) OutputType() *celgo.Type { return x.output }

// Absent is the result of an expression that gives an optional without a value.
var Absent = sandbox.Absent

// EvalError is a failed evaluation.
type EvalError struct {
	// Source is the text of the expression.
	Source string
	// Message says what happened, for users.
	Message string
	// NoSuchKey: it read a field or a list element that is not there, or the value
	// of an absent optional.
	NoSuchKey bool
	// Budget: it was stopped at a limit of cost, time or size.
	Budget bool
}

// Error implements error.
func (e *EvalError) Error() string { return e.Message }

// IsBudget says whether err comes from an evaluation that was stopped at a limit of
// cost, time or size.
func IsBudget(err error) bool {
	var failed *EvalError
	return errors.As(err, &failed) && failed.Budget
}

// IsNoSuchKey says whether err comes from reading a field that is not there.
func IsNoSuchKey(err error) bool {
	var failed *EvalError
	return errors.As(err, &failed) && failed.NoSuchKey
}

// Eval evaluates the expression. The result is a JSON-like Go value that the
// caller owns, or Absent. Errors are *EvalError.
func (x *Expr) Eval(ctx context.Context, a Activation) (any, error) {
	value, err := x.program.Run(ctx, a)
	if err != nil {
		return nil, x.failed(err)
	}
	result, err := sandbox.Convert(ctx, value)
	if err != nil {
		return nil, x.failed(err)
	}
	return result, nil
}

func (x *Expr) failed(err error) *EvalError {
	text := err.Error()
	var limit sandbox.LimitError
	return &EvalError{Source: x.source, Message: shorten(x.conceal(text)), NoSuchKey: isNoSuchKey(text), Budget: errors.As(err, &limit)}
}

// maxMessage bounds the text of an error, which may quote a value.
const maxMessage = 1 << 10

func shorten(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage], "") + "..."
}

// isNoSuchKey knows the errors of cel-go by their text: it has no types for them.
func isNoSuchKey(text string) bool {
	return strings.HasPrefix(text, "no such key") || strings.HasPrefix(text, "index out of bounds") ||
		text == "optional.none() dereference"
}

func (x *Expr) wrongType(got any, want string) error {
	return &EvalError{Source: x.source, Message: fmt.Sprintf("gives %s, want %s", sandbox.TypeName(got), want)}
}

// EvalBool is Eval for an expression that must give a bool.
func (x *Expr) EvalBool(ctx context.Context, a Activation) (bool, error) {
	b, err := evalTo[types.Bool](ctx, x, a, "bool")
	return bool(b), err
}

// EvalString is Eval for an expression that must give a string.
func (x *Expr) EvalString(ctx context.Context, a Activation) (string, error) {
	s, err := evalTo[types.String](ctx, x, a, "string")
	if len(s) > sandbox.MaxResultBytes {
		return "", &EvalError{Source: x.source, Message: sandbox.ErrResultTooLarge.Error(), Budget: true}
	}
	return string(s), err
}

// EvalDuration is Eval for an expression that must give a duration.
func (x *Expr) EvalDuration(ctx context.Context, a Activation) (time.Duration, error) {
	d, err := evalTo[types.Duration](ctx, x, a, "duration")
	return d.Duration, err
}

func evalTo[T ref.Val](ctx context.Context, x *Expr, a Activation, want string) (T, error) {
	value, err := x.program.Run(ctx, a)
	if err != nil {
		var none T
		return none, x.failed(err)
	}
	result, ok := value.(T)
	if !ok {
		return result, x.wrongType(value, want)
	}
	return result, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
