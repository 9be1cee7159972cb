package sandbox

import (
	"context"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/jsonvalue"
	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/meter"
)

// Program is an expression that runs within the bounds. It is immutable and safe for
// concurrent use. It has one of two forms.
type Program struct {
	cheap   celgo.Program               // has no bounds, for it needs none
	metered interpreter.InterpretableV2 // runs under a meter
}

// EvaluateWith evaluates the program with these variables, which must not be changed
// meanwhile. Errors are a meter.LimitError at a limit or when ctx has ended, and
// otherwise what CEL says. The value may share parts with the variables: see ConvertValue.
func (p *Program) EvaluateWith(ctx context.Context, variables interpreter.Activation) (ref.Val, error) {
	if p.cheap != nil {
		value, _, err := p.cheap.Eval(variables)
		return value, err
	}
	return p.runMetered(ctx, &evaluation{Activation: variables})
}

// runMetered runs a plan under the meter of an evaluation.
func (p *Program) runMetered(ctx context.Context, e *evaluation) (ref.Val, error) {
	var value ref.Val
	err := e.meter.RunMetered(ctx, func() error {
		frame, err := interpreter.NewExecutionFrame(e)
		if err != nil {
			return err
		}
		defer frame.Close()
		value = p.metered.Exec(frame)
		if failed, ok := value.(*types.Err); ok {
			return failed
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return value, nil
}

// ConvertValue copies a value that EvaluateWith gave as a JSON-like Go value, see package jsonvalue.
// The budget of ctx is charged for its size, whatever program gave it. The error is a
// meter.LimitError if the result is too large or the budget is used up, and otherwise
// says why JSON cannot hold the value.
func ConvertValue(ctx context.Context, value ref.Val) (any, error) {
	result, bytes, err := jsonvalue.ConvertValue(value)
	if err != nil {
		return nil, err
	}
	if err := meter.SpendBytes(ctx, bytes); err != nil {
		return nil, err
	}
	return result, nil
}

// evaluation is what one evaluation needs beside its program. It belongs to its
// goroutine.
//
// It is the innermost binding of every evaluation, under a name that no expression
// can write: so the nodes of a plan, which many evaluations share, find it.
type evaluation struct {
	interpreter.Activation // the variables of the expression
	meter                  meter.Meter
	heldArguments          []ref.Val // of a call that is being made, see heldArgument
	arguments              []ref.Val // of the calls that are being made, the outermost first
	buffer                 [4]ref.Val
}

// roomForArguments returns room for the arguments of a call, behind those of the calls around it. Whoever
// asks for it puts e.arguments back to what it was.
func (e *evaluation) roomForArguments(n int) []ref.Val {
	if e.arguments == nil {
		e.arguments = e.buffer[:0]
	}
	from := len(e.arguments)
	if from+n > cap(e.arguments) {
		return make([]ref.Val, n)
	}
	e.arguments = e.arguments[:from+n]
	return e.arguments[from : from+n : from+n]
}

var _ interpreter.Activation = (*evaluation)(nil)

// evaluationName is the name that the evaluation is bound to.
const evaluationName = "@evaluation"

// ResolveName implements interpreter.Activation.
func (e *evaluation) ResolveName(name string) (any, bool) {
	if name == evaluationName {
		return e, true
	}
	return e.Activation.ResolveName(name)
}

// evaluationOf returns the evaluation that a node is run in.
func evaluationOf(frame *interpreter.ExecutionFrame) *evaluation {
	found, _ := frame.ResolveName(evaluationName)
	return found.(*evaluation)
}

// meterOf returns the meter of the evaluation that a node is run in.
func meterOf(frame *interpreter.ExecutionFrame) *meter.Meter { return &evaluationOf(frame).meter }
