package sandbox

import (
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/charge"
	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/jsonvalue"
)

// chargeDecorator replaces the nodes of a plan that may cost more than a step by nodes
// that charge it first. It is the last decorator.
type chargeDecorator struct {
	functions map[string]*functions.Overload // by name and by overload
	foreign   map[string]bool                // names of functions, see NewPlanner
	weights   map[int64]int                  // see instrumentExpr
}

func (d chargeDecorator) decorateNode(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	switch n := i.(type) {
	case interpreter.InterpretableConst, interpreter.InterpretableAttribute:
		return i, nil
	case interpreter.InterpretableConstructor:
		return &chargedLiteral{n}, nil
	case interpreter.InterpretableCall:
		return d.decorateCall(n)
	}
	return i, nil
}

func (d chargeDecorator) decorateCall(n interpreter.InterpretableCall) (interpreter.InterpretableV2, error) {
	args := n.Args()
	switch n.Function() {
	case rangeFunction:
		return &loopRange{InterpretableCall: n, over: args[0], weight: d.weights[n.ID()]}, nil
	case keyFunction:
		return &argumentCheck{n, args[0], checkKey}, nil
	case optionalFunction:
		return &argumentCheck{n, args[0], checkOptionalEntry}, nil
	case operators.Equals, operators.NotEquals:
		return &chargedComparison{InterpretableCall: n, left: args[0], right: args[1], want: n.Function() == operators.Equals}, nil
	case operators.In:
		return &chargedMembership{d.chargedCallOf(n, nil)}, nil
	case "matches", "find", "findAll":
		return d.decorateRegex(n)
	}
	if d.foreign[n.Function()] {
		return &foreignCall{d.chargedCallOf(n, charge.ForeignCall)}, nil
	}
	if charge.IsFree(n.Function()) {
		return n, nil
	}
	return d.chargedCallOf(n, charge.RuleOf(n.Function())), nil
}

// chargedCallOf returns a call that is charged by a rule.
func (d chargeDecorator) chargedCallOf(n interpreter.InterpretableCall, rule charge.Rule) *chargedCall {
	overload := d.functions[n.OverloadID()]
	if overload == nil {
		overload = d.functions[n.Function()]
	}
	if overload == nil {
		overload = &functions.Overload{}
	}
	return &chargedCall{InterpretableCall: n, args: n.Args(), overload: overload, rule: rule}
}

// chargedCall is a call of a function whose cost is charged before it is made.
type chargedCall struct {
	interpreter.InterpretableCall
	args     []interpreter.InterpretableV2
	overload *functions.Overload
	rule     charge.Rule
	inner    interpreter.InterpretableV2 // if not nil, what is run, with the held arguments
}

// Eval implements interpreter.Interpretable.
func (n *chargedCall) Eval(a interpreter.Activation) ref.Val { return n.Exec(interpreter.AsFrame(a)) }

// Exec implements interpreter.InterpretableV2.
func (n *chargedCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	e := evaluationOf(frame)
	if n.overload.Function != nil { // it is given the list itself, and may keep it
		return n.execWith(frame, e, make([]ref.Val, len(n.args)))
	}
	outer := e.arguments
	result := n.execWith(frame, e, e.roomForArguments(len(n.args)))
	e.arguments = outer
	return result
}

// execWith is Exec with room for the arguments.
func (n *chargedCall) execWith(frame *interpreter.ExecutionFrame, e *evaluation, args []ref.Val) ref.Val {
	for i, arg := range n.args {
		if args[i] = arg.Exec(frame); types.IsUnknownOrError(args[i]) && !n.overload.NonStrict {
			return args[i]
		}
	}
	n.rule(&e.meter, args)
	if n.inner != nil {
		e.heldArguments = args
		return charge.ChargeResult(&e.meter, n.inner.Exec(frame))
	}
	return charge.ChargeResult(&e.meter, types.LabelErrNode(n.ID(), n.invokeFunction(args)))
}

// foreignCall is a call of a function of which nothing is known but its arguments and its result: all of this
// is charged as well.
type foreignCall struct{ *chargedCall }

// Eval implements interpreter.Interpretable.
func (n *foreignCall) Eval(a interpreter.Activation) ref.Val { return n.Exec(interpreter.AsFrame(a)) }

// Exec implements interpreter.InterpretableV2.
func (n *foreignCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	return charge.ForeignResult(meterOf(frame), n.chargedCall.Exec(frame))
}

// invokeFunction calls the function as cel-go does: its implementation if the first argument
// has the trait that it wants, and otherwise the first argument's own method.
func (n *chargedCall) invokeFunction(args []ref.Val) ref.Val {
	f := n.overload
	if len(args) == 0 {
		return f.Function()
	}
	if f.OperandTrait == 0 || args[0].Type().HasTrait(f.OperandTrait) {
		switch {
		case len(args) == 1 && f.Unary != nil:
			return f.Unary(args[0])
		case len(args) == 2 && f.Binary != nil:
			return f.Binary(args[0], args[1])
		case f.Function != nil:
			return f.Function(args...)
		}
	}
	if receiver, ok := args[0].(traits.Receiver); ok && args[0].Type().HasTrait(traits.ReceiverType) {
		return receiver.Receive(n.Function(), n.OverloadID(), args[1:])
	}
	return types.NewErr("no such overload: %s", n.Function())
}

// chargedLiteral is a list or a map that is written out.
type chargedLiteral struct {
	interpreter.InterpretableConstructor
}

// Eval implements interpreter.Interpretable.
func (n *chargedLiteral) Eval(a interpreter.Activation) ref.Val {
	return n.Exec(interpreter.AsFrame(a))
}

// Exec implements interpreter.InterpretableV2.
func (n *chargedLiteral) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	result := n.InterpretableConstructor.Exec(frame)
	return charge.ChargeResult(meterOf(frame), result)
}

// argumentCheck passes its argument on, or an error in place of it.
type argumentCheck struct {
	interpreter.InterpretableCall
	argument interpreter.InterpretableV2
	check    func(ref.Val) ref.Val // returns the error, or nil
}

// Eval implements interpreter.Interpretable.
func (n *argumentCheck) Eval(a interpreter.Activation) ref.Val { return n.Exec(interpreter.AsFrame(a)) }

// Exec implements interpreter.InterpretableV2.
func (n *argumentCheck) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	value := n.argument.Exec(frame)
	if types.IsUnknownOrError(value) {
		return value
	}
	if failed := n.check(value); failed != nil {
		return failed
	}
	return value
}

func checkKey(value ref.Val) ref.Val {
	switch value.(type) {
	case types.String, types.Int, types.Uint, types.Double, types.Bool:
		return nil
	}
	return types.NewErr("unsupported key type: %s", jsonvalue.TypeName(value))
}

func checkOptionalEntry(value ref.Val) ref.Val {
	if _, ok := value.(*types.Optional); ok {
		return nil
	}
	return types.NewErr("an entry marked with ? must be optional, is %s", jsonvalue.TypeName(value))
}
