// Package jsonvalue copies values of CEL as JSON-like Go values: map[string]any, []any,
// string, int64, float64, bool and nil.
//
// A value of CEL may be far larger as JSON than it is in memory: a list that holds
// another ten times, over a few levels, is one. So Convert counts as it copies, a part
// each time that it is there, and ends with meter.ErrResultTooLarge once the result is
// larger than meter.MaxResultBytes. It refuses lists and maps by their length before it
// copies their parts.
//
// The result shares nothing with the value, so that either may be changed. The value
// must not be changed meanwhile. Everything is safe for concurrent use.
//
// The package knows neither expressions nor evaluations: it charges nothing, and says
// how much there is to be charged for.
package jsonvalue

import (
	"encoding/base64"
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/meter"
)

// ConvertValue copies a value that an evaluation gave as a JSON-like Go value. Those that
// JSON does not know are given as their text, and an optional as its value or Absent;
// parts that are Absent are left out of lists and maps. bytes is the size of the result
// as it was counted. The error is meter.ErrResultTooLarge if that is more than
// meter.MaxResultBytes, and otherwise says why JSON cannot hold the value.
func ConvertValue(value ref.Val) (result any, bytes int, err error) {
	c := converter{bytesLeft: meter.MaxResultBytes}
	result, err = c.convertValue(value)
	if err != nil {
		return nil, 0, err
	}
	return result, meter.MaxResultBytes - c.bytesLeft, nil
}

// converter converts one value. It stops when no bytes are left.
type converter struct {
	bytesLeft int
}

// overhead is what a value is taken to cost beside its text, in bytes.
const overhead = 8

func (c *converter) chargeBytes(bytes int) error {
	c.bytesLeft -= bytes + overhead
	if c.bytesLeft < 0 {
		return meter.ErrResultTooLarge
	}
	return nil
}

func (c *converter) convertValue(value ref.Val) (any, error) {
	switch v := value.(type) {
	case types.String:
		return string(v), c.chargeBytes(len(v))
	case types.Int:
		return int64(v), c.chargeBytes(0)
	case types.Bool:
		return bool(v), c.chargeBytes(0)
	case types.Double:
		return c.convertFloat(float64(v))
	case types.Uint:
		if v > math.MaxInt64 {
			return nil, fmt.Errorf("gives %d, which is more than a 64-bit integer holds", uint64(v))
		}
		return int64(v), c.chargeBytes(0)
	case types.Null:
		return nil, c.chargeBytes(0)
	case *types.Optional:
		if !v.HasValue() {
			return Absent, nil
		}
		return c.convertValue(v.GetValue())
	case traits.Mapper:
		return c.convertMap(v)
	case traits.Lister:
		return c.convertList(v)
	}
	return c.convertText(value)
}

// checkSize refuses what is too large by the number of its parts alone.
func (c *converter) checkSize(s traits.Sizer) error {
	if size, ok := s.Size().(types.Int); ok && int64(size) > int64(c.bytesLeft/overhead) {
		return meter.ErrResultTooLarge
	}
	return nil
}

func (c *converter) convertText(value ref.Val) (any, error) {
	var text string
	switch v := value.(type) {
	case types.Bytes:
		if len(v) > c.bytesLeft {
			return nil, meter.ErrResultTooLarge
		}
		text = base64.StdEncoding.EncodeToString(v)
	case types.Timestamp:
		text = v.Format(time.RFC3339Nano)
	case types.Duration:
		text = v.String()
	case *types.Err:
		return nil, v
	default:
		s, ok := value.Value().(fmt.Stringer)
		if !ok {
			return nil, fmt.Errorf("gives %s, which no field can hold", TypeName(value))
		}
		text = s.String()
	}
	return text, c.chargeBytes(len(text))
}

func (c *converter) convertMap(m traits.Mapper) (any, error) {
	if native, ok := m.Value().(map[string]any); ok {
		return c.copyMap(native)
	}
	if err := c.checkSize(m); err != nil {
		return nil, err
	}
	result := map[string]any{}
	for it := m.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, ok := key.(types.String)
		if !ok {
			return nil, fmt.Errorf("gives a map with a key of type %s, want string", TypeName(key))
		}
		value, err := c.convertValue(m.Get(key))
		if err != nil {
			return nil, err
		}
		if value == Absent {
			continue
		}
		if err := c.chargeBytes(len(name)); err != nil {
			return nil, err
		}
		result[string(name)] = value
	}
	return result, nil
}

func (c *converter) convertList(l traits.Lister) (any, error) {
	if native, ok := NativeList(l); ok {
		return c.copyList(native)
	}
	if err := c.checkSize(l); err != nil {
		return nil, err
	}
	result := []any{}
	for it := l.Iterator(); it.HasNext() == types.True; {
		value, err := c.convertValue(it.Next())
		if err != nil {
			return nil, err
		}
		if value != Absent {
			result = append(result, value)
		}
	}
	return result, c.chargeBytes(0)
}

// copyValue copies what is JSON-like already, without a CEL value for each part.
func (c *converter) copyValue(value any) (any, error) {
	switch v := value.(type) {
	case map[string]any:
		return c.copyMap(v)
	case []any:
		return c.copyList(v)
	case string:
		return v, c.chargeBytes(len(v))
	case bool, int64, nil:
		return v, c.chargeBytes(0)
	case float64:
		return c.convertFloat(v)
	}
	return c.convertValue(types.DefaultTypeAdapter.NativeToValue(value))
}

func (c *converter) copyMap(m map[string]any) (any, error) {
	result := make(map[string]any, len(m))
	for key, value := range m {
		copied, err := c.copyValue(value)
		if err != nil {
			return nil, err
		}
		if copied == Absent {
			continue
		}
		if err := c.chargeBytes(len(key)); err != nil {
			return nil, err
		}
		result[key] = copied
	}
	return result, nil
}

func (c *converter) copyList(l []any) (any, error) {
	result := make([]any, 0, len(l))
	for _, value := range l {
		copied, err := c.copyValue(value)
		if err != nil {
			return nil, err
		}
		if copied != Absent {
			result = append(result, copied)
		}
	}
	return result, c.chargeBytes(0)
}

func (c *converter) convertFloat(f float64) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("gives %v, which JSON cannot hold", f)
	}
	return f, c.chargeBytes(0)
}

type absent struct{}

// Absent is what Convert gives for an optional without a value. It is compared with ==.
var Absent any = absent{}

// nativeListType is the type of lists whose Value costs nothing. That of a
// concatenation first makes all of it, and of what is in it, uncounted.
var nativeListType = reflect.TypeOf(types.DefaultTypeAdapter.NativeToValue([]any{}))

// NativeList returns what a list of CEL is made of, if that is JSON-like already. It is the
// list's own, and must not be changed. It costs nothing.
func NativeList(l traits.Lister) ([]any, bool) {
	if reflect.TypeOf(l) != nativeListType {
		return nil, false
	}
	native, ok := l.Value().([]any)
	return native, ok
}

// TypeName names the type of a CEL or JSON-like value as CEL does.
func TypeName(value any) string {
	if v, ok := value.(ref.Val); ok {
		return v.Type().TypeName()
	}
	if value == Absent {
		return "an absent optional"
	}
	return types.DefaultTypeAdapter.NativeToValue(value).Type().TypeName()
}
