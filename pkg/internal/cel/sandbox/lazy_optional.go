package sandbox

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// decorateLazyOptional makes or() and orValue() evaluate their argument only when it
// is needed, as cel-go's library of optionals does in programs of cel.Program.
func decorateLazyOptional(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	call, ok := i.(interpreter.InterpretableCall)
	if !ok || len(call.Args()) != 2 || call.Function() != "or" && call.Function() != "orValue" {
		return i, nil
	}
	return &lazyOptional{id: call.ID(), left: call.Args()[0], right: call.Args()[1], unwrap: call.Function() == "orValue"}, nil
}

// lazyOptional is the left optional if it has a value, and otherwise the right.
type lazyOptional struct {
	id          int64
	left, right interpreter.InterpretableV2
	unwrap      bool // give the left one's value, not the optional
}

// ID implements interpreter.Interpretable.
func (n *lazyOptional) ID() int64 { return n.id }

// Eval implements interpreter.Interpretable.
func (n *lazyOptional) Eval(a interpreter.Activation) ref.Val { return n.Exec(interpreter.AsFrame(a)) }

// Exec implements interpreter.InterpretableV2.
func (n *lazyOptional) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	left := n.left.Exec(frame)
	if types.IsUnknownOrError(left) {
		return left
	}
	optional, ok := left.(*types.Optional)
	switch {
	case !ok:
		return types.NoSuchOverloadErr()
	case !optional.HasValue():
		return n.right.Exec(frame)
	case n.unwrap:
		return optional.GetValue()
	}
	return optional
}
