package charge

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/meter"
)

// ChargedEqual is types.Equal for two values without errors in them, charged a step for each pair
// of parts that it compares, and for long text. It stops at the first that differ.
func ChargedEqual(m *meter.Meter, x, y ref.Val) ref.Val {
	m.ChargeSteps(1)
	switch a := x.(type) {
	case types.String, types.Bytes:
		m.ChargeSteps(min(SizeOf(x), SizeOf(y)) / 256)
	case *types.Optional:
		if b, ok := y.(*types.Optional); ok && a.HasValue() && b.HasValue() {
			return ChargedEqual(m, a.GetValue(), b.GetValue())
		}
	case traits.Mapper:
		if b, ok := y.(traits.Mapper); ok {
			return equalMaps(m, a, b)
		}
		return types.False
	case traits.Lister:
		if b, ok := y.(traits.Lister); ok {
			return equalLists(m, a, b)
		}
		return types.False
	}
	return types.Equal(x, y)
}

func equalLists(m *meter.Meter, a, b traits.Lister) ref.Val {
	if a.Size() != b.Size() {
		return types.False
	}
	for i, size := 0, SizeOf(a); i < size; i++ {
		if ChargedEqual(m, a.Get(types.Int(i)), b.Get(types.Int(i))) == types.False {
			return types.False
		}
	}
	return types.True
}

func equalMaps(m *meter.Meter, a, b traits.Mapper) ref.Val {
	if a.Size() != b.Size() {
		return types.False
	}
	for it := a.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		other, found := b.Find(key)
		if !found {
			return types.False
		}
		if value, _ := a.Find(key); ChargedEqual(m, value, other) == types.False {
			return types.False
		}
	}
	return types.True
}
