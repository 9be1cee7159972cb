package cel

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// scan counts the steps of going through all of a value, once for each time that
// it is there, and returns how many parts it has and the bytes of its text. In
// maps it goes no deeper than deep says.
func (m *meter) scan(value ref.Val, maps bool) (parts, bytes int) {
	m.step(1)
	switch v := value.(type) {
	case types.String:
		m.step(len(v) / 64)
		return 1, len(v)
	case types.Bytes:
		m.step(len(v) / 64)
		return 1, len(v)
	case *types.Optional:
		if v.HasValue() {
			return m.scan(v.GetValue(), maps)
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

func (m *meter) scanMap(v traits.Mapper) (parts, bytes int) {
	if native, ok := v.Value().(map[string]any); ok {
		return m.scanNative(native)
	}
	parts = 1
	for it := v.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		p, b := m.scan(key, true)
		q, c := m.scan(v.Get(key), true)
		parts, bytes = parts+p+q, bytes+b+c
	}
	return parts, bytes
}

func (m *meter) scanList(v traits.Lister, maps bool) (parts, bytes int) {
	if native, ok := plain(v); ok && maps {
		return m.scanNative(native)
	}
	parts = 1
	for i, size := 0, sizeOf(v); i < size; i++ {
		p, b := m.scan(v.Get(types.Int(i)), maps)
		parts, bytes = parts+p, bytes+b
	}
	return parts, bytes
}

func (m *meter) scanNative(value any) (parts, bytes int) {
	m.step(1)
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
		m.step(len(v) / 64)
		return 1, len(v)
	default:
		return 1, 8
	}
	return parts, bytes
}

// sizeOf is how many parts a list or a map has, or how long a text is in bytes; 0
// for all else.
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

// shallow is the bytes that a value takes without what it refers to.
func shallow(value ref.Val) int {
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
