package sandbox

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/charge"
)

// chargedComparison is == or !=.
type chargedComparison struct {
	interpreter.InterpretableCall
	left, right interpreter.InterpretableV2
	want        bool // the result for equal values
}

// Eval implements interpreter.Interpretable.
func (n *chargedComparison) Eval(a interpreter.Activation) ref.Val {
	return n.Exec(interpreter.AsFrame(a))
}

// Exec implements interpreter.InterpretableV2.
func (n *chargedComparison) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	left, right := n.left.Exec(frame), n.right.Exec(frame)
	switch {
	case types.IsUnknownOrError(left):
		return left
	case types.IsUnknownOrError(right):
		return right
	}
	result := compareValues(frame, left, right)
	if !n.want {
		return types.Bool(result != types.True)
	}
	return result
}

// smallText is the length of text below which comparing costs less than finding the
// meter.
const smallText = 8192

// compareValues reports whether values are equal. It charges nothing for small ones.
func compareValues(frame *interpreter.ExecutionFrame, x, y ref.Val) ref.Val {
	switch v := x.(type) {
	case types.Int, types.Bool, types.Double, types.Uint, types.Null:
		return types.Equal(x, y)
	case types.String:
		if len(v) < smallText {
			return types.Equal(x, y)
		}
	}
	return charge.ChargedEqual(meterOf(frame), x, y)
}

// chargedMembership is the operator in. An entry of a map that is null is not in it.
type chargedMembership struct{ *chargedCall }

// Eval implements interpreter.Interpretable.
func (n *chargedMembership) Eval(a interpreter.Activation) ref.Val {
	return n.Exec(interpreter.AsFrame(a))
}

// Exec implements interpreter.InterpretableV2.
func (n *chargedMembership) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	element, in := n.args[0].Exec(frame), n.args[1].Exec(frame)
	switch {
	case types.IsUnknownOrError(element):
		return element
	case types.IsUnknownOrError(in):
		return in
	}
	list, ok := in.(traits.Lister)
	if !ok {
		if m, ok := in.(traits.Mapper); ok && holdsNull(m, element) {
			return types.False
		}
		return types.LabelErrNode(n.ID(), n.invokeFunction([]ref.Val{element, in}))
	}
	m := meterOf(frame)
	for i, size := 0, charge.SizeOf(list); i < size; i++ {
		if charge.ChargedEqual(m, element, list.Get(types.Int(i))) == types.True {
			return types.True
		}
	}
	return types.False
}

// holdsNull reports whether the entry of a map is null, which reads as absent.
func holdsNull(m traits.Mapper, key ref.Val) bool {
	value, found := m.Find(key)
	return found && value == types.NullValue
}
