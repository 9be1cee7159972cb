package sandbox

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/jsonvalue"
	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/meter"
)

// scanValue charges the steps of going through all of a value, once for each time
// that it is there, and returns how many parts it has and the bytes of its text. It
// goes into maps only if maps says so.
func scanValue(m *meter.Meter, value ref.Val, maps bool) (parts, bytes int) {
	m.ChargeSteps(1)
	switch v := value.(type) {
	case types.String:
		m.ChargeSteps(len(v) / 64)
		return 1, len(v)
	case types.Bytes:
		m.ChargeSteps(len(v) / 64)
		return 1, len(v)
	case *types.Optional:
		if v.HasValue() {
			return scanValue(m, v.GetValue(), maps)
		}
	case traits.Mapper:
		if maps {
			return scanMap(m, v)
		}
	case traits.Lister:
		return scanList(m, v, maps)
	}
	return 1, 8
}

// scanValues is scanValue for all of them together.
func scanValues(m *meter.Meter, args []ref.Val) (parts, bytes int) {
	for _, arg := range args {
		p, b := scanValue(m, arg, true)
		parts, bytes = parts+p, bytes+b
	}
	return parts, bytes
}

func scanMap(m *meter.Meter, v traits.Mapper) (parts, bytes int) {
	if native, ok := v.Value().(map[string]any); ok {
		return scanNative(m, native)
	}
	parts = 1
	for it := v.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		p, b := scanValue(m, key, true)
		q, c := scanValue(m, v.Get(key), true)
		parts, bytes = parts+p+q, bytes+b+c
	}
	return parts, bytes
}

func scanList(m *meter.Meter, v traits.Lister, maps bool) (parts, bytes int) {
	if native, ok := jsonvalue.NativeList(v); ok && maps {
		return scanNative(m, native)
	}
	parts = 1
	for i, size := 0, sizeOf(v); i < size; i++ {
		p, b := scanValue(m, v.Get(types.Int(i)), maps)
		parts, bytes = parts+p, bytes+b
	}
	return parts, bytes
}

// scanNative is scanValue for JSON-like Go values, without a CEL value for each part.
func scanNative(m *meter.Meter, value any) (parts, bytes int) {
	m.ChargeSteps(1)
	parts = 1
	switch v := value.(type) {
	case map[string]any:
		for key, below := range v {
			p, b := scanNative(m, below)
			parts, bytes = parts+p, bytes+b+len(key)
		}
	case []any:
		for _, below := range v {
			p, b := scanNative(m, below)
			parts, bytes = parts+p, bytes+b
		}
	case string:
		m.ChargeSteps(len(v) / 64)
		return 1, len(v)
	default:
		return 1, 8
	}
	return parts, bytes
}

// sizeOf is the number of parts of a list or a map, or of the bytes of a text; 0 for
// all else.
func sizeOf(value ref.Val) int {
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
		return 16 + sizeOf(value)
	case traits.Mapper:
		return 64 + 96*sizeOf(value)
	case traits.Lister:
		return 96 + 32*sizeOf(value)
	}
	return 16
}

// chargeResult counts the memory of what a function gave.
func chargeResult(m *meter.Meter, result ref.Val) ref.Val {
	switch result.(type) {
	case traits.MutableLister, traits.MutableMapper: // counted as they grow
	default:
		m.ChargeMemory(shallowSize(result))
	}
	return result
}
