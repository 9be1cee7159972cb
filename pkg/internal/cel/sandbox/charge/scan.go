package charge

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
	for i, size := 0, SizeOf(v); i < size; i++ {
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
