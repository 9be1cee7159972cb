package gofunction

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/jsonvalue"
	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/meter"
)

type zone string

// TestNew: the types of CEL are those of Go, and all that has none is said at once.
func TestNew(t *testing.T) {
	cases := map[string]struct {
		reason   string
		function any
		want     string // the signature
		failed   string // the error
	}{
		"Text":     {reason: "text to text", function: strings.ToUpper, want: "acme.f(string) -> string"},
		"None":     {reason: "no argument", function: func() int64 { return 1 }, want: "acme.f() -> int"},
		"Scalars":  {reason: "all scalars", function: func(bool, int64, int, float64, string) bool { return true }, want: "acme.f(bool, int, int, double, string) -> bool"},
		"Own":      {reason: "a type of one's own is its underlying type", function: func(zone) zone { return "" }, want: "acme.f(string) -> string"},
		"Times":    {reason: "what JSON does not have", function: func([]byte, time.Duration) time.Time { return time.Time{} }, want: "acme.f(bytes, google.protobuf.Duration) -> google.protobuf.Timestamp"},
		"Lists":    {reason: "lists and maps of these", function: func([]string, map[string]int64, [][]float64) []any { return nil }, want: "acme.f(list(string), map(string, int), list(list(double))) -> list(dyn)"},
		"Any":      {reason: "any value", function: func(any, map[string]any) (any, error) { return 1, nil }, want: "acme.f(dyn, map(string, dyn)) -> dyn"},
		"Nil":      {reason: "nothing", failed: `function "acme.f": it must be given a function of Go that is not nil, is given <nil>`},
		"NilFunc":  {reason: "a function that is nil", function: (func(string) string)(nil), failed: `function "acme.f": it must be given a function of Go that is not nil, is given func(string) string`},
		"NoFunc":   {reason: "no function", function: "f", failed: `function "acme.f": it must be given a function of Go that is not nil, is given string`},
		"Variadic": {reason: "CEL has no variadic function", function: fmt.Sprint, failed: `function "acme.f": it is variadic, which a function of CEL cannot be: take a list ([]interface {}) as the last argument`},
		"NoResult": {reason: "a call is a value", function: func(string) {}, failed: `function "acme.f": it must give one result, or a result and an error`},
		"OnlyError": {reason: "an error is no value", function: func() error { return nil },
			failed: `function "acme.f": it must give one result, or a result and an error`},
		"TwoResults": {reason: "a second result is an error", function: func() (string, bool) { return "", true },
			failed: `function "acme.f": it must give one result, or a result and an error`},
		"AllAtOnce": {reason: "each type that CEL does not have", function: func(uint32, string, []time.Time, map[int]string, struct{}) *string { return nil },
			failed: `function "acme.f": argument 1 is of type uint32: use string, bool, int64, float64, []byte, time.Duration, time.Time or any, or []T or map[string]T of these
function "acme.f": argument 3 is of type []time.Time: lists and maps hold values of JSON only
function "acme.f": argument 4 is of type map[int]string: use string, bool, int64, float64, []byte, time.Duration, time.Time or any, or []T or map[string]T of these
function "acme.f": argument 5 is of type struct {}: use string, bool, int64, float64, []byte, time.Duration, time.Time or any, or []T or map[string]T of these
function "acme.f": the result is of type *string: use string, bool, int64, float64, []byte, time.Duration, time.Time or any, or []T or map[string]T of these`},
		"Interface": {reason: "an interface with methods", function: func(fmt.Stringer) error { return nil },
			failed: `function "acme.f": argument 1 is of type fmt.Stringer: use string, bool, int64, float64, []byte, time.Duration, time.Time or any, or []T or map[string]T of these
function "acme.f": it must give one result, or a result and an error`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f, err := New("acme.f", tc.function)
			if tc.failed != "" {
				if err == nil || err.Error() != tc.failed {
					t.Errorf("%s: gives\n%v, want\n%s", tc.reason, err, tc.failed)
				}
				return
			}
			if err != nil || f.Signature() != tc.want {
				t.Errorf("%s: %v, %v, want %s", tc.reason, f, err, tc.want)
			}
		})
	}
}

// call calls a Go function with native values.
func call(t *testing.T, function any, args ...any) ref.Val {
	t.Helper()
	f, err := New("acme.f", function)
	if err != nil {
		t.Fatal(err)
	}
	values := make([]ref.Val, len(args))
	for i, arg := range args {
		values[i] = types.DefaultTypeAdapter.NativeToValue(arg)
	}
	return f.Call(values...)
}

// TestArguments: what a function is given, as Go writes it.
func TestArguments(t *testing.T) {
	show := func(v any) string { return fmt.Sprintf("%#v", v) }
	cases := map[string]struct {
		reason   string
		function any
		arg      any
		want     string // or the error
	}{
		"Text":         {reason: "text", function: func(s string) string { return show(s) }, arg: "a", want: `"a"`},
		"Own":          {reason: "of a type of one's own", function: func(z zone) string { return show(z) }, arg: "a", want: `"a"`},
		"Int":          {reason: "a number", function: func(n int) string { return show(n) }, arg: int64(3), want: "3"},
		"Bytes":        {reason: "bytes", function: func(b []byte) string { return show(b) }, arg: []byte("a"), want: "[]byte{0x61}"},
		"Duration":     {reason: "a duration", function: func(d time.Duration) string { return d.String() }, arg: time.Minute, want: "1m0s"},
		"Time":         {reason: "a time", function: func(at time.Time) string { return at.String() }, arg: time.Unix(0, 0).UTC(), want: "1970-01-01 00:00:00 +0000 UTC"},
		"List":         {reason: "a list", function: func(l []string) string { return show(l) }, arg: []any{"a", "b"}, want: `[]string{"a", "b"}`},
		"Map":          {reason: "an entry that is null is none", function: func(m map[string]string) string { return show(m) }, arg: map[string]any{"a": "b", "c": nil}, want: `map[string]string{"a":"b"}`},
		"AnyMap":       {reason: "unless anything may stand there", function: func(m map[string]any) string { return show(m) }, arg: map[string]any{"c": nil}, want: `map[string]interface {}{"c":interface {}(nil)}`},
		"Any":          {reason: "anything", function: func(v any) string { return show(v) }, arg: []any{int64(1), 1.5, true, nil}, want: `[]interface {}{1, 1.5, true, interface {}(nil)}`},
		"Null":         {reason: "nothing", function: func(v any) string { return show(v) }, want: `<nil>`},
		"TextForAny":   {reason: "what JSON does not have is its text", function: func(v any) string { return show(v) }, arg: time.Minute, want: `"1m0s"`},
		"WrongScalar":  {reason: "another type", function: func(string) string { return "" }, arg: int64(1), want: "acme.f: argument 1 must be string, is int"},
		"NoConversion": {reason: "nothing is converted", function: func(float64) string { return "" }, arg: int64(1), want: "acme.f: argument 1 must be double, is int"},
		"Uint":         {reason: "an unsigned number neither", function: func(int64) string { return "" }, arg: uint64(1), want: "acme.f: argument 1 must be int, is uint"},
		"NoText":       {reason: "nor what has a text", function: func(string) string { return "" }, arg: time.Minute, want: "acme.f: argument 1 must be string, is google.protobuf.Duration"},
		"BytesAsText":  {reason: "nor bytes", function: func(string) string { return "" }, arg: []byte("a"), want: "acme.f: argument 1 must be string, is bytes"},
		"TextAsBytes":  {reason: "nor text as bytes", function: func([]byte) string { return "" }, arg: "a", want: "acme.f: argument 1 must be bytes, is string"},
		"ListAsBytes":  {reason: "nor numbers", function: func([]byte) string { return "" }, arg: []any{int64(1)}, want: "acme.f: argument 1 must be bytes, is list"},
		"IntAsTime":    {reason: "nor a number as a duration", function: func(time.Duration) string { return "" }, arg: int64(1), want: "acme.f: argument 1 must be google.protobuf.Duration, is int"},
		"NullText":     {reason: "null is no text", function: func(string) string { return "" }, want: "acme.f: argument 1 must be string, is null_type"},
		"Element":      {reason: "an element of another type", function: func([]string) string { return "" }, arg: []any{"a", nil}, want: "acme.f: argument 1 has an element [1] that must be string, is null_type"},
		"Entry":        {reason: "the first entry, whichever is first in memory", function: func(map[string]string) string { return "" }, arg: map[string]any{"secret": true, "b": 1.5, "z": int64(1)}, want: "acme.f: argument 1 has an entry that must be string, is double"},
		"Absent":       {reason: "an optional without a value", function: func(any) string { return "" }, arg: types.OptionalNone, want: "acme.f: argument 1 is an optional without a value: say with .orValue(...) what it is then"},
		"Present":      {reason: "and with one", function: func(v any) string { return show(v) }, arg: types.OptionalOf(types.String("a")), want: `"a"`},
		"NotANumber":   {reason: "no number", function: func(float64) string { return "" }, arg: math.NaN(), want: "acme.f: argument 1 cannot be given on: gives NaN, which JSON cannot hold"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := fmt.Sprint(call(t, tc.function, tc.arg).Value()); got != tc.want {
				t.Errorf("%s: gives %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

// itself is a map that holds itself.
func itself() map[string]any {
	m := map[string]any{}
	m["m"] = m
	return m
}

// nested is a list in a list, and so on.
func nested(depth int) any {
	var v any
	for range depth {
		v = []any{v}
	}
	return v
}

// TestResults: what a function gives, as JSON has it.
func TestResults(t *testing.T) {
	cases := map[string]struct {
		reason string
		given  any
		want   any
		failed string
	}{
		"Null":       {reason: "nothing is null"},
		"Int":        {reason: "every number of Go that fits", given: map[string]any{"a": 1, "b": int8(-2), "c": uint16(3), "d": float32(0.5)}, want: map[string]any{"a": int64(1), "b": int64(-2), "c": int64(3), "d": 0.5}},
		"Own":        {reason: "types of one's own", given: []zone{"a"}, want: []any{"a"}},
		"NilList":    {reason: "a list that is nil is empty", given: []string(nil), want: []any{}},
		"NilMap":     {reason: "so is a map", given: map[zone]string(nil), want: map[string]any{}},
		"Bytes":      {reason: "bytes", given: []byte("hi"), want: "aGk="},
		"Duration":   {reason: "a duration", given: time.Minute, want: "1m0s"},
		"Time":       {reason: "a time, in UTC", given: time.Unix(0, 0).In(time.FixedZone("x", 3600)), want: "1970-01-01T00:00:00Z"},
		"Year":       {reason: "a time that RFC 3339 cannot write", given: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), failed: "acme.f: gives a time that is not in the years 1 to 9999"},
		"LargeUint":  {reason: "a number that does not fit", given: uint64(math.MaxUint64), failed: "acme.f: gives a value of the Go type uint64, which is none of JSON"},
		"Struct":     {reason: "a struct", given: []any{struct{ A int }{1}}, failed: "acme.f: gives a value of the Go type struct { A int }, which is none of JSON"},
		"Pointer":    {reason: "a pointer", given: new(int), failed: "acme.f: gives a value of the Go type *int, which is none of JSON"},
		"TimeInside": {reason: "a time in a list", given: []any{time.Time{}}, failed: "acme.f: gives a value of the Go type time.Time, which is none of JSON"},
		"BytesInside": {reason: "bytes in a list", given: []any{[]byte("a")},
			failed: "acme.f: gives a value of the Go type []uint8, which is none of JSON"},
		"NotUTF8":  {reason: "text that the API server would store as another", given: "\xff", failed: "acme.f: gives text that is not UTF-8: give such bytes as []byte"},
		"NoKey":    {reason: "also as a key", given: map[string]any{"\xff": 1}, failed: "acme.f: gives text that is not UTF-8: give such bytes as []byte"},
		"Deep":     {reason: "as deep as Kubernetes reads", given: nested(9_000), want: nested(9_000)},
		"TooDeep":  {reason: "and no deeper", given: nested(10_002), failed: "acme.f: gives more than 10000 lists and maps in each other"},
		"Itself":   {reason: "which is where a map ends that holds itself", given: itself(), failed: "acme.f: gives more than 10000 lists and maps in each other"},
		"AnyOfAny": {reason: "two mistakes: always the same is said", given: map[string]any{"a": new(int), "b": "\xff"}, failed: "acme.f: gives a value of the Go type *int, which is none of JSON"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := call(t, func() any { return tc.given })
			if tc.failed != "" {
				if failed, ok := got.(*types.Err); !ok || failed.Error() != tc.failed {
					t.Errorf("%s: gives %.200v, want %s", tc.reason, got, tc.failed)
				}
				return
			}
			native, _, err := jsonvalue.ConvertValue(got)
			if !reflect.DeepEqual(tc.want, native) || err != nil { // cmp.Diff takes minutes for what is deep
				t.Errorf("%s: gives %.200v, %v, want %.200v", tc.reason, native, err, tc.want)
			}
		})
	}
}

// TestTooLarge: an argument and a result have a bound each, which ends the evaluation.
func TestTooLarge(t *testing.T) {
	long, list := strings.Repeat("a", meter.MaxResultBytes), make([]any, meter.MaxResultBytes/8)
	cases := map[string]struct {
		function any
		args     []any
		want     meter.LimitError
	}{
		"Argument": {func(string, any) string { return "" }, []any{"", long}, "stopped at the size limit: argument 2 of acme.f is larger than 1.5 MiB"},
		"Octets":   {func([]byte) string { return "" }, []any{[]byte(long + "a")}, "stopped at the size limit: argument 1 of acme.f is larger than 1.5 MiB"},
		"Text":     {func() string { return long }, nil, "stopped at the size limit: the result of acme.f is larger than 1.5 MiB"},
		"Bytes":    {func() []byte { return []byte(long + "a") }, nil, "stopped at the size limit: the result of acme.f is larger than 1.5 MiB"},
		"List":     {func() []any { return list }, nil, "stopped at the size limit: the result of acme.f is larger than 1.5 MiB"},
		"Shared":   {func() any { return []any{list[:100_000], list[:100_000]} }, nil, "stopped at the size limit: the result of acme.f is larger than 1.5 MiB"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if got := recover(); got != tc.want {
					t.Errorf("stops with %v, want %v", got, tc.want)
				}
			}()
			t.Errorf("gives %.100v", call(t, tc.function, tc.args...))
		})
	}
}

// TestFailures: an error and a panic are errors that name the function.
func TestFailures(t *testing.T) {
	var none map[string]string
	cases := map[string]struct {
		function any
		want     string
	}{
		"Error":   {func() (string, error) { return "a", errors.New("there is no zone") }, "acme.f: there is no zone"},
		"NoError": {func() (string, error) { return "a", nil }, "a"},
		"Panic":   {func() string { panic("a mistake") }, "acme.f: panics at function_test.go:LINE: a mistake"},
		"Runtime": {func() string { none["a"] = "b"; return "" }, "acme.f: panics at function_test.go:LINE: assignment to entry in nil map"},
		"Nil":     {func() string { var z *zone; return string(*z) }, "acme.f: panics at function_test.go:LINE: runtime error: invalid memory address or nil pointer dereference"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := fmt.Sprint(call(t, tc.function).Value())
			if before, after, found := strings.Cut(got, "_test.go:"); found {
				_, after, _ = strings.Cut(after, ":")
				got = before + "_test.go:LINE:" + after
			}
			if got != tc.want {
				t.Errorf("gives %s, want %s", got, tc.want)
			}
		})
	}
}

// TestNothingIsShared: a function may change what it is given, and what it has given.
func TestNothingIsShared(t *testing.T) {
	in, kept := map[string]any{"l": []any{"a"}}, []any{map[string]any{"a": "b"}}
	result := call(t, func(m map[string]any, b []byte) any {
		m["l"].([]any)[0], b[0] = "changed", 'x'
		return kept
	}, in, []byte("a"))
	kept[0].(map[string]any)["a"] = "changed"
	if fmt.Sprint(in) != "map[l:[a]]" {
		t.Errorf("the argument is now %v", in)
	}
	if native, _, _ := jsonvalue.ConvertValue(result); fmt.Sprint(native) != "[map[a:b]]" {
		t.Errorf("the result is now %v", native)
	}
}
