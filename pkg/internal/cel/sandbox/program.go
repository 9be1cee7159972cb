package sandbox

import (
	"context"
	"fmt"
	"time"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// Program is an expression that runs within the bounds. It is immutable and safe for
// concurrent use. It has one of two forms.
type Program struct {
	cheap   celgo.Program               // has no bounds, for it needs none
	metered interpreter.InterpretableV2 // runs under a meter
}

// minimumTime is what an evaluation spends of a budget's time beside its steps.
const minimumTime = time.Microsecond / 4

// Run evaluates the program with these variables, which must not be changed
// meanwhile. Errors are a LimitError at a limit or when ctx has ended, and otherwise
// what CEL says. The value may share parts with the variables: see Convert.
func (p *Program) Run(ctx context.Context, variables interpreter.Activation) (ref.Val, error) {
	if p.cheap != nil {
		value, _, err := p.cheap.Eval(variables)
		return value, err
	}
	budget := budgetFrom(ctx)
	if err := budget.spendTime(minimumTime); err != nil {
		return nil, err
	}
	m := newMeter(ctx, variables)
	defer m.stopTimer()
	value, err := p.runMetered(m)
	budget.addSteps(m.steps)
	if err := budget.spendTime(m.timeUsed()); err != nil {
		return nil, err
	}
	return value, err
}

// runMetered runs a plan under a meter. Panics are errors: those of the meter, and
// what cel-go or a function in it fails to handle.
func (p *Program) runMetered(m *meter) (value ref.Val, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case LimitError:
			value, err = nil, r
		default:
			value, err = nil, fmt.Errorf("internal error: %v", r)
		}
	}()
	frame, err := interpreter.NewExecutionFrame(m)
	if err != nil {
		return nil, err
	}
	defer frame.Close()
	value = p.metered.Exec(frame)
	if failed, ok := value.(*types.Err); ok {
		return nil, failed
	}
	return value, nil
}
