package sandbox

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/interpreter"
)

// Planner makes programs of checked expressions. It is immutable and safe for
// concurrent use.
type Planner struct {
	functions  map[string]*functions.Overload // by name and by overload
	foreign    map[string]bool                // names of functions
	dispatcher interpreter.Dispatcher         // of the same functions; nothing is added to it any more
	decorate   interpreter.InterpretableDecoratorV2
}

// NewPlanner makes a planner for expressions of environments that extend base by
// variables and macros alone: the functions are those of base. The decorator is given
// each node of a program before the sandbox is; it says how fields are read. foreign are those of
// the functions of which nothing is known but their arguments and their results.
func NewPlanner(base *celgo.Env, decorate interpreter.InterpretableDecoratorV2, foreign ...string) (*Planner, error) {
	p := &Planner{functions: map[string]*functions.Overload{}, foreign: map[string]bool{}, dispatcher: interpreter.NewDispatcher(), decorate: decorate}
	for _, name := range foreign {
		p.foreign[name] = true
	}
	for name, f := range base.Functions() {
		bindings, err := f.Bindings()
		if err != nil {
			return nil, fmt.Errorf("reading the function %s: %w", name, err)
		}
		for _, b := range bindings {
			p.functions[b.Operator] = b
		}
	}
	for _, name := range []string{rangeFunction, keyFunction, optionalFunction} {
		p.functions[name] = &functions.Overload{Operator: name, Unary: returnArgument}
	}
	for _, name := range slices.Sorted(maps.Keys(p.functions)) {
		if err := p.dispatcher.Add(p.functions[name]); err != nil {
			return nil, fmt.Errorf("adding the function %s: %w", name, err)
		}
	}
	return p, nil
}

// cheapEnv has the functions of cheap expressions.
var cheapEnv = sync.OnceValues(func() (*celgo.Env, error) { return celgo.NewEnv(celgo.OptionalTypes()) })

// PlanProgram makes the program of an expression that env has checked. A cheap one, which
// is short, has no macros, and only reads and compares, runs without a meter: that is
// several times as fast. The expression is not changed.
func (p *Planner) PlanProgram(env *celgo.Env, checked *celgo.Ast) (*Program, error) {
	if !isCheap(checked) {
		return p.PlanMetered(env, checked)
	}
	bare, err := cheapEnv()
	if err != nil {
		return nil, fmt.Errorf("making the environment of cheap expressions: %w", err)
	}
	cheap, err := bare.Program(checked, celgo.CustomDecoratorV2(p.decorate), celgo.EvalOptions(celgo.OptOptimize))
	return &Program{cheap: cheap}, err
}

// PlanMetered is PlanProgram without the short cut for cheap expressions. The program gives
// the same results.
//
// It is made without cel.Program, whose counting of costs holds on to every value,
// does not see what functions allocate, and takes several times as long as this.
func (p *Planner) PlanMetered(env *celgo.Env, checked *celgo.Ast) (*Program, error) {
	provider, adapter := env.CELTypeProvider(), env.CELTypeAdapter()
	attributes := interpreter.NewAttributeFactory(env.Container, adapter, provider)
	root := ast.Copy(checked.NativeRep())
	charges := chargeDecorator{functions: p.functions, foreign: p.foreign, weights: instrumentExpr(root)}
	plan, err := interpreter.NewInterpreter(p.dispatcher, env.Container, provider, adapter, attributes).NewInterpretable(root,
		interpreter.CustomDecoratorV2(p.decorate),
		interpreter.CustomDecoratorV2(decorateLazyOptional),
		interpreter.Optimize(),
		interpreter.CustomDecoratorV2(charges.decorateNode),
	)
	return &Program{metered: plan}, err
}
