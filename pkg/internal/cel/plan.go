package cel

import (
	"fmt"
	"sync"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/interpreter"
)

// functionTable is the implementations of functions.
type functionTable struct {
	byName     map[string]*functions.Overload // and by overload
	dispatcher interpreter.Dispatcher         // of the same; nothing is added to it any more
}

// implementations are those of the base environment, once in a process, and of
// the functions that instrument puts in.
var implementations = sync.OnceValues(func() (functionTable, error) {
	table := functionTable{byName: map[string]*functions.Overload{}, dispatcher: interpreter.NewDispatcher()}
	for name, f := range base().Functions() {
		bindings, err := f.Bindings()
		if err != nil {
			return table, fmt.Errorf("reading the function %s: %w", name, err)
		}
		for _, b := range bindings {
			table.byName[b.Operator] = b
		}
	}
	for _, name := range []string{rangeFunction, keyFunction, optionalFunction} {
		table.byName[name] = &functions.Overload{Operator: name, Unary: identity}
	}
	for _, name := range sortedKeys(table.byName) {
		if err := table.dispatcher.Add(table.byName[name]); err != nil {
			return table, fmt.Errorf("adding the function %s: %w", name, err)
		}
	}
	return table, nil
})

// plan makes the tree of nodes that a bounded evaluation runs. It is made
// without cel.Program, whose counting of costs holds on to every value, does not
// see what functions allocate, and takes several times as long as this.
func (e *Env) plan(checked *celgo.Ast) (interpreter.InterpretableV2, error) {
	table, err := implementations()
	if err != nil {
		return nil, err
	}
	provider, adapter := e.env.CELTypeProvider(), e.env.CELTypeAdapter()
	attributes := interpreter.NewAttributeFactory(e.env.Container, adapter, provider)
	program := ast.Copy(checked.NativeRep())
	g := guard{functions: table.byName, weights: instrument(program)}
	return interpreter.NewInterpreter(table.dispatcher, e.env.Container, provider, adapter, attributes).NewInterpretable(program,
		interpreter.CustomDecoratorV2(decorateNull),
		interpreter.CustomDecoratorV2(decorateOptional),
		interpreter.Optimize(),
		interpreter.CustomDecoratorV2(g.decorate),
	)
}
