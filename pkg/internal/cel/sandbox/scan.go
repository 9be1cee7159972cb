package sandbox

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// scanValue charges the steps of going through all of a value, once for each time
// that it is there, and returns how many parts it has and the bytes of its text. It
// goes into maps only if maps says so.
func (m *meter) scanValue(value ref.Val, maps bool) (parts, bytes int) {
	m.chargeSteps(1)
	switch v := value.(type) {
	case types.String:
		m.chargeSteps(len(v) / 64)
		return 1, len(v)
	case types.Bytes:
		m.chargeSteps(len(v) / 64)
		return 1, len(v)
	case *types.Optional:
		if v.HasValue() {
			return m.scanValue(v.GetValue(), maps)
		}
	case traits.Mapper:
		if maps {
			return m.scanMap(v)
		}
	case traits.Lister:
		return m.scanList(v, maps)
	}
	return 1, 8
}

// scanValues is scanValue for all of them together.
func (m *meter) scanValues(args []ref.Val) (parts, bytes int) {
	for _, arg := range args {
		p, b := m.scanValue(arg, true)
		parts, bytes = parts+p, bytes+b
	}
	return parts, bytes
}

func (m *meter) scanMap(v traits.Mapper) (parts, bytes int) {
	if native, ok := v.Value().(map[string]any); ok {
		return m.scanNative(native)
	}
	parts = 1
	for it := v.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		p, b := m.scanValue(key, true)
		q, c := m.scanValue(v.Get(key), true)
		parts, bytes = parts+p+q, bytes+b+c
	}
	return parts, bytes
}

func (m *meter) scanList(v traits.Lister, maps bool) (parts, bytes int) {
	if native, ok := nativeList(v); ok && maps {
		return m.scanNative(native)
	}
	parts = 1
	for i, size := 0, sizeOf(v); i < size; i++ {
		p, b := m.scanValue(v.Get(types.Int(i)), maps)
		parts, bytes = parts+p, bytes+b
	}
	return parts, bytes
}

// scanNative is scanValue for JSON-like Go values, without a CEL value for each part.
func (m *meter) scanNative(value any) (parts, bytes int) {
	m.chargeSteps(1)
	parts = 1
	switch v := value.(type) {
	case map[string]any:
		for key, below := range v {
			p, b := m.scanNative(below)
			parts, bytes = parts+p, bytes+b+len(key)
		}
	case []any:
		for _, below := range v {
			p, b := m.scanNative(below)
			parts, bytes = parts+p, bytes+b
		}
	case string:
		m.chargeSteps(len(v) / 64)
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
		return MemoryLimit
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
