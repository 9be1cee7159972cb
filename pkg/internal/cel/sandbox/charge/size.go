package charge

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/meter"
)

// ChargeResult charges the memory of what a call or a literal gave, by its size and without what
// it refers to, and returns it. A list or a map that a macro makes grow is free here: the
// rule of the call that adds to it has charged for what was added.
func ChargeResult(m *meter.Meter, result ref.Val) ref.Val {
	switch result.(type) {
	case traits.MutableLister, traits.MutableMapper:
	default:
		m.ChargeMemory(shallowSize(result))
	}
	return result
}

// SizeOf is the number of parts of a list or a map, or of the bytes of a text; 0 for
// all else. What does not know its size is taken to be as large as may be.
func SizeOf(value ref.Val) int {
	switch v := value.(type) {
	case types.String:
		return len(v)
	case types.Bytes:
		return len(v)
	case traits.Sizer:
		if size, ok := v.Size().(types.Int); ok {
			return int(size)
		}
		return meter.MemoryLimit
	}
	return 0
}

// shallowSize is the bytes that a value takes without what it refers to.
func shallowSize(value ref.Val) int {
	switch value.(type) {
	case types.String, types.Bytes:
		return 16 + SizeOf(value)
	case traits.Mapper:
		return 64 + 96*SizeOf(value)
	case traits.Lister:
		return 96 + 32*SizeOf(value)
	}
	return 16
}
