package cel

import (
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// guardedCall is a call of a function whose cost is counted before it is made.
type guardedCall struct {
	interpreter.InterpretableCall
	args     []interpreter.InterpretableV2
	overload *functions.Overload
	rule     rule
	inner    interpreter.InterpretableV2 // if not nil, what to run, with the held arguments
}

// Eval implements interpreter.Interpretable.
func (n *guardedCall) Eval(a interpreter.Activation) ref.Val { return n.Exec(interpreter.AsFrame(a)) }

// Exec implements interpreter.InterpretableV2.
func (n *guardedCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	args := make([]ref.Val, len(n.args))
	for i, arg := range n.args {
		if args[i] = arg.Exec(frame); types.IsUnknownOrError(args[i]) && !n.overload.NonStrict {
			return args[i]
		}
	}
	m := meterOf(frame)
	n.rule(m, args)
	if n.inner != nil {
		m.held = args
		return m.made(n.inner.Exec(frame))
	}
	return m.made(types.LabelErrNode(n.ID(), n.invoke(args)))
}

// made counts the memory of a result.
func (m *meter) made(result ref.Val) ref.Val {
	switch result.(type) {
	case traits.MutableLister, traits.MutableMapper: // counted as they grow
	default:
		m.make(shallow(result))
	}
	return result
}

// invoke is how cel-go calls a function: its implementation if the first argument
// has what that wants, and otherwise the first argument's own method.
func (n *guardedCall) invoke(args []ref.Val) ref.Val {
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

// literal is a list or a map that is written out.
type literal struct {
	interpreter.InterpretableConstructor
}

// Eval implements interpreter.Interpretable.
func (n *literal) Eval(a interpreter.Activation) ref.Val { return n.Exec(interpreter.AsFrame(a)) }

// Exec implements interpreter.InterpretableV2.
func (n *literal) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	result := n.InterpretableConstructor.Exec(frame)
	meterOf(frame).make(shallow(result))
	return result
}

// refusal gives its argument on if there is nothing against it.
type refusal struct {
	interpreter.InterpretableCall
	refuse func(ref.Val) ref.Val // nil: nothing
}

// Eval implements interpreter.Interpretable.
func (n *refusal) Eval(a interpreter.Activation) ref.Val { return n.Exec(interpreter.AsFrame(a)) }

// Exec implements interpreter.InterpretableV2.
func (n *refusal) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	value := n.Args()[0].Exec(frame)
	if types.IsUnknownOrError(value) {
		return value
	}
	if refused := n.refuse(value); refused != nil {
		return refused
	}
	return value
}

func refuseKey(value ref.Val) ref.Val {
	switch value.(type) {
	case types.String, types.Int, types.Uint, types.Double, types.Bool:
		return nil
	}
	return types.NewErr("unsupported key type: %s", typeName(value))
}

func refuseEntry(value ref.Val) ref.Val {
	if _, ok := value.(*types.Optional); ok {
		return nil
	}
	return types.NewErr("an entry marked with ? must be optional, is %s", typeName(value))
}
