package jsonvalue

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/meter"
)

func TestConvert(t *testing.T) {
	value := types.DefaultTypeAdapter.NativeToValue
	none := types.OptionalNone
	cases := map[string]struct {
		reason string
		in     ref.Val
		want   any
		failed string // part of the error
	}{
		"String":         {reason: "text is itself", in: types.String("a"), want: "a"},
		"Int":            {reason: "an int is an int64", in: types.Int(-1), want: int64(-1)},
		"Bool":           {reason: "a bool is itself", in: types.True, want: true},
		"Double":         {reason: "a double is a float64", in: types.Double(1.5), want: 1.5},
		"Null":           {reason: "null is nil", in: types.NullValue},
		"Uint":           {reason: "a uint is an int64, too", in: types.Uint(5), want: int64(5)},
		"LargeUint":      {reason: "if it can be", in: types.Uint(math.MaxUint64), failed: "more than a 64-bit integer holds"},
		"NaN":            {reason: "JSON has no such number", in: types.Double(math.NaN()), failed: "JSON cannot hold"},
		"Infinity":       {reason: "nor this one", in: types.Double(math.Inf(-1)), failed: "JSON cannot hold"},
		"NaNInside":      {reason: "also where values are not CEL's", in: value([]any{math.NaN()}), failed: "JSON cannot hold"},
		"Bytes":          {reason: "bytes are base64", in: types.Bytes("hi"), want: "aGk="},
		"Timestamp":      {reason: "a timestamp is its text", in: types.Timestamp{Time: time.Unix(0, 0).UTC()}, want: "1970-01-01T00:00:00Z"},
		"Duration":       {reason: "so is a duration", in: types.Duration{Duration: 90 * time.Second}, want: "1m30s"},
		"Type":           {reason: "a type is no value", in: types.IntType, failed: "which no field can hold"},
		"Error":          {reason: "an error stays one", in: types.NewErr("it went wrong"), failed: "it went wrong"},
		"Optional":       {reason: "an optional is its value", in: types.OptionalOf(types.Int(1)), want: int64(1)},
		"None":           {reason: "or absent", in: none, want: Absent},
		"List":           {reason: "lists, without what is absent", in: types.NewRefValList(types.DefaultTypeAdapter, []ref.Val{types.Int(1), none, types.True}), want: []any{int64(1), true}},
		"NativeList":     {reason: "lists of Go values", in: value([]any{int64(1), "a", nil, []any{}}), want: []any{int64(1), "a", nil, []any{}}},
		"EmptyList":      {reason: "an empty list is no nil", in: types.NewRefValList(types.DefaultTypeAdapter, nil), want: []any{}},
		"Map":            {reason: "maps, without what is absent", in: types.NewRefValMap(types.DefaultTypeAdapter, map[ref.Val]ref.Val{types.String("a"): types.Int(1), types.String("b"): none}), want: map[string]any{"a": int64(1)}},
		"NativeMap":      {reason: "maps of Go values", in: value(map[string]any{"a": map[string]any{"b": nil}}), want: map[string]any{"a": map[string]any{"b": nil}}},
		"IntKey":         {reason: "keys are text", in: types.NewRefValMap(types.DefaultTypeAdapter, map[ref.Val]ref.Val{types.Int(1): types.True}), failed: "key of type int, want string"},
		"OtherGoValue":   {reason: "other Go values go by CEL", in: value([]any{int32(1), []byte("hi")}), want: []any{int64(1), "aGk="}},
		"FailsInList":    {reason: "what fails inside fails", in: value([]any{map[string]any{"a": math.Inf(1)}}), failed: "JSON cannot hold"},
		"AllBytes":       {reason: "a result may have so many bytes", in: types.String(strings.Repeat("a", meter.MaxResultBytes-overhead)), want: strings.Repeat("a", meter.MaxResultBytes-overhead)},
		"OneMore":        {reason: "and no more", in: types.String(strings.Repeat("a", meter.MaxResultBytes-overhead+1)), failed: "size limit"},
		"ManyBytes":      {reason: "bytes are not encoded to find that out", in: types.Bytes(make([]byte, meter.MaxResultBytes+1)), failed: "size limit"},
		"ManyNumbers":    {reason: "numbers count as well", in: value(make([]any, meter.MaxResultBytes/overhead+1)), failed: "size limit"},
		"LongCELList":    {reason: "a long list is refused before it is copied", in: types.NewRefValList(types.DefaultTypeAdapter, make([]ref.Val, meter.MaxResultBytes/overhead+1)), failed: "size limit"},
		"SharedManyTime": {reason: "what is shared counts each time", in: shared(types.String(strings.Repeat("a", 1000)), 12), failed: "size limit"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, _, err := ConvertValue(tc.in)
			if tc.failed != "" {
				if err == nil || !strings.Contains(err.Error(), tc.failed) {
					t.Errorf("%s: gives %.100v, %v, want %q", tc.reason, got, err, tc.failed)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(Absent)); diff != "" || err != nil {
				t.Errorf("%s (-want +got):\n%s%v", tc.reason, diff, err)
			}
		})
	}
}

// shared is a list that holds another twice, and so on: 2^depth times the value.
func shared(value ref.Val, depth int) ref.Val {
	for range depth {
		value = types.NewRefValList(types.DefaultTypeAdapter, []ref.Val{value, value})
	}
	return value
}

// TestConvertCopies: the result shares nothing with the value.
func TestConvertCopies(t *testing.T) {
	in := map[string]any{"list": []any{map[string]any{"a": "b"}}}
	got, _, err := ConvertValue(types.DefaultTypeAdapter.NativeToValue(in))
	if err != nil {
		t.Fatal(err)
	}
	got.(map[string]any)["list"].([]any)[0].(map[string]any)["a"] = "changed"
	if in["list"].([]any)[0].(map[string]any)["a"] != "b" {
		t.Error("changing the result changed the value")
	}
}

func TestTypeName(t *testing.T) {
	for want, value := range map[string]any{
		"int": types.Int(1), "string": "a", "map": map[string]any{}, "list": []any{}, "null_type": nil, "an absent optional": Absent,
	} {
		if got := TypeName(value); got != want {
			t.Errorf("%v is of type %s, want %s", value, got, want)
		}
	}
}

// TestSizes: what is counted for a result, and nothing for what failed.
func TestSizes(t *testing.T) {
	value := types.DefaultTypeAdapter.NativeToValue
	for _, tc := range []struct {
		in   ref.Val
		want int
	}{
		{types.True, overhead},
		{types.String("four"), overhead + 4},
		{types.Bytes("four"), overhead + 8},
		{types.OptionalNone, 0},
		{value([]any{"a", "b"}), 3*overhead + 2},
		{value(map[string]any{"key": "a"}), 2*overhead + 4},
		{shared(types.String("a"), 2), 7*overhead + 4},
		{types.Double(math.NaN()), 0},
	} {
		if _, bytes, _ := ConvertValue(tc.in); bytes != tc.want {
			t.Errorf("%v counts %d bytes, want %d", tc.in, bytes, tc.want)
		}
	}
}

// TestNativeList: only a list whose Go value is there already is given, as it is.
func TestNativeList(t *testing.T) {
	native := []any{"a", int64(1)}
	value := types.DefaultTypeAdapter.NativeToValue
	if got, ok := NativeList(value(native).(traits.Lister)); !ok || &got[0] != &native[0] {
		t.Errorf("gives %v, %v", got, ok)
	}
	sum := value(native).(traits.Lister).Add(value(native)).(traits.Lister)
	for name, list := range map[string]traits.Lister{
		"Sum": sum, "Strings": value([]string{"a"}).(traits.Lister), "Values": types.NewRefValList(types.DefaultTypeAdapter, nil),
	} {
		if got, ok := NativeList(list); ok {
			t.Errorf("%s gives %v", name, got)
		}
	}
}
