package cel

import (
	"context"
	"fmt"
	"sync"
	"time"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// bare has the functions of simple expressions.
var bare = sync.OnceValues(func() (*celgo.Env, error) { return celgo.NewEnv(celgo.OptionalTypes()) })

// program is what runs: one of both.
type program struct {
	simple  celgo.Program               // has no bounds, for it needs none
	bounded interpreter.InterpretableV2 // runs under a meter
}

func (e *Env) program(checked *celgo.Ast) (program, error) {
	if !isSimple(checked) {
		plan, err := e.plan(checked)
		return program{bounded: plan}, err
	}
	env, err := bare()
	if err != nil {
		return program{}, fmt.Errorf("making the environment of simple expressions: %w", err)
	}
	simple, err := env.Program(checked, celgo.CustomDecoratorV2(decorateNull), celgo.EvalOptions(celgo.OptOptimize))
	return program{simple: simple}, err
}

func (x *Expr) run(ctx context.Context, a Activation) (ref.Val, error) {
	if x.program.simple != nil {
		value, _, err := x.program.simple.Eval(a)
		return value, err
	}
	budget := budgetOf(ctx)
	if err := budget.spendTime(time.Microsecond / 4); err != nil {
		return nil, err
	}
	m := &meter{Activation: a, ctx: ctx, look: lookEvery}
	defer m.close()
	value, err := execute(x.program.bounded, m)
	budget.count(m.steps)
	if err := budget.spendTime(m.time()); err != nil {
		return nil, err
	}
	return value, err
}

// execute runs a plan. Panics are errors: those of the meter, and what cel-go or a
// function in it fails to handle.
func execute(plan interpreter.InterpretableV2, m *meter) (value ref.Val, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case stop:
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
	value = plan.Exec(frame)
	if failed, ok := value.(*types.Err); ok {
		return nil, failed
	}
	return value, nil
}
