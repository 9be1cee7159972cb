package cel

import (
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/interpreter"
)

// guard replaces the nodes of a plan that may cost more than a step by such that
// count it first. It is the last decorator.
type guard struct {
	functions map[string]*functions.Overload // by name and by overload
	weights   map[int64]int                  // see instrument
}

func (g guard) decorate(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	switch n := i.(type) {
	case interpreter.InterpretableConst, interpreter.InterpretableAttribute:
		return i, nil
	case interpreter.InterpretableConstructor:
		return &literal{n}, nil
	case interpreter.InterpretableCall:
		return g.call(n)
	}
	return i, nil
}

func (g guard) call(n interpreter.InterpretableCall) (interpreter.InterpretableV2, error) {
	args := n.Args()
	switch n.Function() {
	case rangeFunction:
		return &loopRange{InterpretableCall: n, weight: g.weights[n.ID()]}, nil
	case keyFunction:
		return &refusal{n, refuseKey}, nil
	case optionalFunction:
		return &refusal{n, refuseEntry}, nil
	case operators.Equals, operators.NotEquals:
		return &comparison{InterpretableCall: n, left: args[0], right: args[1], want: n.Function() == operators.Equals}, nil
	case operators.In:
		return &membership{g.guarded(n, nil)}, nil
	case "matches", "find", "findAll":
		return g.regex(n)
	}
	if isFree(n.Function()) {
		return n, nil
	}
	return g.guarded(n, ruleOf(n.Function())), nil
}

func (g guard) guarded(n interpreter.InterpretableCall, rule rule) *guardedCall {
	overload := g.functions[n.OverloadID()]
	if overload == nil {
		overload = g.functions[n.Function()]
	}
	if overload == nil {
		overload = &functions.Overload{}
	}
	return &guardedCall{InterpretableCall: n, args: n.Args(), overload: overload, rule: rule}
}
