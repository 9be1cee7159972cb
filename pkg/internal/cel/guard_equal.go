package cel

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// comparison is == or !=.
type comparison struct {
	interpreter.InterpretableCall
	left, right interpreter.InterpretableV2
	want        bool
}

// Eval implements interpreter.Interpretable.
func (n *comparison) Eval(a interpreter.Activation) ref.Val { return n.Exec(interpreter.AsFrame(a)) }

// Exec implements interpreter.InterpretableV2.
func (n *comparison) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	left, right := n.left.Exec(frame), n.right.Exec(frame)
	switch {
	case types.IsUnknownOrError(left):
		return left
	case types.IsUnknownOrError(right):
		return right
	}
	result := equal(frame, left, right)
	if !n.want {
		return types.Bool(result != types.True)
	}
	return result
}

// equal compares values, and counts only where it may be much.
func equal(frame *interpreter.ExecutionFrame, x, y ref.Val) ref.Val {
	switch v := x.(type) {
	case types.Int, types.Bool, types.Double, types.Uint, types.Null:
		return types.Equal(x, y)
	case types.String:
		if len(v) < lookEvery {
			return types.Equal(x, y)
		}
	}
	return meterOf(frame).equal(x, y)
}

// equal is types.Equal, counted.
func (m *meter) equal(x, y ref.Val) ref.Val {
	m.step(1)
	switch a := x.(type) {
	case types.String, types.Bytes:
		m.step(min(sizeOf(x), sizeOf(y)) / 256)
	case *types.Optional:
		if b, ok := y.(*types.Optional); ok && a.HasValue() && b.HasValue() {
			return m.equal(a.GetValue(), b.GetValue())
		}
	case traits.Mapper:
		if b, ok := y.(traits.Mapper); ok {
			return m.equalMaps(a, b)
		}
		return types.False
	case traits.Lister:
		if b, ok := y.(traits.Lister); ok {
			return m.equalLists(a, b)
		}
		return types.False
	}
	return types.Equal(x, y)
}

func (m *meter) equalLists(a, b traits.Lister) ref.Val {
	if a.Size() != b.Size() {
		return types.False
	}
	for i, size := 0, sizeOf(a); i < size; i++ {
		if m.equal(a.Get(types.Int(i)), b.Get(types.Int(i))) == types.False {
			return types.False
		}
	}
	return types.True
}

func (m *meter) equalMaps(a, b traits.Mapper) ref.Val {
	if a.Size() != b.Size() {
		return types.False
	}
	for it := a.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		other, found := b.Find(key)
		if !found {
			return types.False
		}
		if value, _ := a.Find(key); m.equal(value, other) == types.False {
			return types.False
		}
	}
	return types.True
}

// membership is the operator in.
type membership struct{ *guardedCall }

// Eval implements interpreter.Interpretable.
func (n *membership) Eval(a interpreter.Activation) ref.Val { return n.Exec(interpreter.AsFrame(a)) }

// Exec implements interpreter.InterpretableV2.
func (n *membership) Exec(frame *interpreter.ExecutionFrame) ref.Val {
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
		return types.LabelErrNode(n.ID(), n.invoke([]ref.Val{element, in}))
	}
	m := meterOf(frame)
	for i, size := 0, sizeOf(list); i < size; i++ {
		if m.equal(element, list.Get(types.Int(i))) == types.True {
			return types.True
		}
	}
	return types.False
}
