package charge

import (
	"testing"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/meter"
)

// values makes a list of these values, which no Go value stands behind.
func values(list ...ref.Val) ref.Val { return types.NewRefValList(types.DefaultTypeAdapter, list) }

// entries makes a map of these values.
func entries(m map[ref.Val]ref.Val) ref.Val {
	return types.NewRefValMap(types.DefaultTypeAdapter, m)
}

// TestScanValue: parts and bytes are counted, and each part is a step.
func TestScanValue(t *testing.T) {
	cases := map[string]struct {
		reason              string
		in                  ref.Val
		steps, parts, bytes int
	}{
		"Int":        {reason: "a number is a part of 8 bytes", in: types.Int(1), steps: 1, parts: 1, bytes: 8},
		"Text":       {reason: "text has its letters, and a step for each 64", in: text(640), steps: 11, parts: 1, bytes: 640},
		"Bytes":      {reason: "bytes as well", in: types.Bytes("four"), steps: 1, parts: 1, bytes: 4},
		"Optional":   {reason: "an optional is as its value", in: types.OptionalOf(text(3)), steps: 2, parts: 1, bytes: 3},
		"None":       {reason: "without a value it is a part", in: types.OptionalNone, steps: 1, parts: 1, bytes: 8},
		"List":       {reason: "a list is a part beside its own", in: values(types.Int(1), text(3)), steps: 3, parts: 3, bytes: 11},
		"Map":        {reason: "keys are parts", in: entries(map[ref.Val]ref.Val{text(2): text(3)}), steps: 3, parts: 3, bytes: 5},
		"Nested":     {reason: "all levels count", in: values(values(values(types.True))), steps: 4, parts: 4, bytes: 8},
		"Shared":     {reason: "what is shared counts each time", in: shared(3), steps: 7 + 16, parts: 7 + 16, bytes: 64},
		"NativeList": {reason: "Go values count as those of CEL", in: value([]any{int64(1), "abc", nil}), steps: 5, parts: 4, bytes: 19},
		"NativeMap":  {reason: "but for keys of maps, which are no parts", in: value(map[string]any{"key": []any{"a"}}), steps: 4, parts: 3, bytes: 4},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var m meter.Meter
			var parts, bytes int
			err := m.RunMetered(t.Context(), func() error { parts, bytes = scanValue(&m, tc.in, true); return nil })
			steps, _ := m.ChargedTotals()
			if steps != tc.steps || parts != tc.parts || bytes != tc.bytes || err != nil {
				t.Errorf("%s: %d steps, %d parts, %d bytes, %v, want %d, %d, %d", tc.reason, steps, parts, bytes, err, tc.steps, tc.parts, tc.bytes)
			}
		})
	}
}

// TestScanLists: without maps, a map is one part.
func TestScanLists(t *testing.T) {
	in := value([]any{map[string]any{"a": "b"}, []any{"c"}})
	var m meter.Meter
	err := m.RunMetered(t.Context(), func() error {
		if parts, bytes := scanValue(&m, in, false); parts != 4 || bytes != 9 {
			t.Errorf("%d parts, %d bytes", parts, bytes)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestResult(t *testing.T) {
	for name, tc := range map[string]struct {
		in   ref.Val
		want int
	}{
		"Int": {types.Int(1), 16}, "Error": {types.NewErr("failed"), 16}, "Text": {text(10), 26},
		"List": {numbers(2), 160}, "Map": {value(map[string]any{"a": 1}), 160}, "Growing": {growing(3), 0},
		"GrowingMap": {types.NewMutableMap(types.DefaultTypeAdapter, map[ref.Val]ref.Val{text(1): text(1)}), 0},
	} {
		var m meter.Meter
		err := m.RunMetered(t.Context(), func() error {
			if ChargeResult(&m, tc.in) != tc.in && name != "Map" && name != "List" {
				t.Errorf("%s is not returned as it is", name)
			}
			return nil
		})
		if _, bytes := m.ChargedTotals(); bytes != tc.want || err != nil {
			t.Errorf("%s takes %d bytes, %v, want %d", name, bytes, err, tc.want)
		}
	}
}

// TestEqual: the result is that of cel-go, and each pair of parts that is compared is a step.
func TestEqual(t *testing.T) {
	cases := map[string]struct {
		reason string
		x, y   ref.Val
		steps  int
	}{
		"Ints":          {reason: "one pair", x: types.Int(1), y: types.Int(1), steps: 1},
		"IntDouble":     {reason: "numbers of different types may be equal", x: types.Int(1), y: types.Double(1), steps: 1},
		"Types":         {reason: "text is no number", x: types.Int(1), y: text(1), steps: 1},
		"Text":          {reason: "long text is more", x: text(2560), y: text(2560), steps: 11},
		"OneShort":      {reason: "as far as both go", x: text(2560), y: text(1), steps: 1},
		"Lists":         {reason: "all elements", x: numbers(3), y: zeros(3), steps: 4},
		"Sizes":         {reason: "lists of different sizes are not gone through", x: numbers(3), y: numbers(4), steps: 1},
		"First":         {reason: "it stops where they differ", x: values(text(1), text(1)), y: values(text(2), text(1)), steps: 2},
		"ListMap":       {reason: "a list is no map", x: numbers(0), y: value(map[string]any{}), steps: 1},
		"MapList":       {reason: "a map is no list", x: value(map[string]any{}), y: numbers(0), steps: 1},
		"Maps":          {reason: "all entries", x: value(map[string]any{"a": 1, "b": 2}), y: value(map[string]any{"b": 2, "a": 1}), steps: 3},
		"Keys":          {reason: "a key that is not there", x: value(map[string]any{"a": 1}), y: value(map[string]any{"b": 1}), steps: 1},
		"Values":        {reason: "a value that differs", x: value(map[string]any{"a": 1}), y: value(map[string]any{"a": 2}), steps: 2},
		"MapSizes":      {reason: "maps of different sizes", x: value(map[string]any{"a": 1}), y: value(map[string]any{}), steps: 1},
		"Optionals":     {reason: "optionals by their values", x: types.OptionalOf(text(1)), y: types.OptionalOf(text(1)), steps: 2},
		"OptionalNone":  {reason: "or by having none", x: types.OptionalOf(text(1)), y: types.OptionalNone, steps: 1},
		"OptionalNones": {reason: "both none", x: types.OptionalNone, y: types.OptionalNone, steps: 1},
		"Shared":        {reason: "what is shared is compared each time", x: shared(3), y: shared(3), steps: 23},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var m meter.Meter
			var got ref.Val
			err := m.RunMetered(t.Context(), func() error { got = ChargedEqual(&m, tc.x, tc.y); return nil })
			if want := types.Equal(tc.x, tc.y); got != want || err != nil {
				t.Errorf("%s: gives %v, %v, and without charges %v", tc.reason, got, err, want)
			}
			if steps, _ := m.ChargedTotals(); steps != tc.steps {
				t.Errorf("%s: %d steps, want %d", tc.reason, steps, tc.steps)
			}
		})
	}
}

// zeros is a list of n zeros that is JSON-like already.
func zeros(n int) ref.Val {
	list := make([]any, n)
	for i := range list {
		list[i] = int64(0)
	}
	return value(list)
}

// TestSizeOf: what does not know its size is taken to be too large.
func TestSizeOf(t *testing.T) {
	for name, tc := range map[string]struct {
		in   ref.Val
		want int
	}{
		"Text": {types.String("aä"), 3}, "Bytes": {types.Bytes("ab"), 2}, "List": {numbers(3), 3}, "Map": {value(map[string]any{"a": 1}), 1},
		"Int": {types.Int(5), 0}, "Unknown": {unsized{}, meter.MemoryLimit},
	} {
		if got := SizeOf(tc.in); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

// unsized is a value whose size is an error.
type unsized struct{ types.Null }

// Size implements traits.Sizer.
func (unsized) Size() ref.Val { return types.NewErr("it has none") }
