package gofunction

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/jsonvalue"
	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/meter"
)

// The Go types of CEL's values that JSON does not have. They stand by themselves only, not in lists and maps.
var (
	bytesType    = reflect.TypeFor[[]byte]()
	durationType = reflect.TypeFor[time.Duration]()
	timeType     = reflect.TypeFor[time.Time]()
)

// celTypeOf is the type in CEL of a Go type. inside: it is that of the values in a list or a map. problem says what to
// use in its place if it has none; it is empty otherwise.
func celTypeOf(t reflect.Type, inside bool) (as *celgo.Type, problem string) {
	switch {
	case t == bytesType && !inside:
		return celgo.BytesType, ""
	case t == durationType && !inside:
		return celgo.DurationType, ""
	case t == timeType && !inside:
		return celgo.TimestampType, ""
	case t == bytesType || t == durationType || t == timeType:
		return celgo.DynType, "lists and maps hold values of JSON only"
	}
	switch t.Kind() {
	case reflect.String:
		return celgo.StringType, ""
	case reflect.Bool:
		return celgo.BoolType, ""
	case reflect.Int64, reflect.Int:
		return celgo.IntType, ""
	case reflect.Float64:
		return celgo.DoubleType, ""
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return celgo.DynType, ""
		}
	case reflect.Slice:
		below, problem := celTypeOf(t.Elem(), true)
		return celgo.ListType(below), problem
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			below, problem := celTypeOf(t.Elem(), true)
			return celgo.MapType(celgo.StringType, below), problem
		}
	}
	return celgo.DynType, "use string, bool, int64, float64, []byte, time.Duration, time.Time or any, or []T or map[string]T of these"
}

// argumentValue is a copy of an argument as a value of a Go type that celTypeOf knows. The error continues a sentence; it
// is meter.ErrResultTooLarge if there is more than is copied.
func argumentValue(arg ref.Val, t reflect.Type) (reflect.Value, error) {
	into := reflect.New(t).Elem()
	switch v := arg.(type) {
	case types.Bytes:
		if t == bytesType && len(v) > meter.MaxResultBytes {
			return into, meter.ErrResultTooLarge
		}
		if t == bytesType {
			into.SetBytes(bytes.Clone(v))
			return into, nil
		}
	case types.Duration:
		if t == durationType {
			into.SetInt(int64(v.Duration))
			return into, nil
		}
	case types.Timestamp:
		if t == timeType {
			into.Set(reflect.ValueOf(v.Time))
			return into, nil
		}
	}
	native, _, err := jsonvalue.ConvertValue(arg)
	switch {
	case errors.Is(err, meter.ErrResultTooLarge):
		return into, err
	case err != nil:
		return into, fmt.Errorf("cannot be given on: %w", err)
	case native == jsonvalue.Absent:
		return into, errors.New("is an optional without a value: say with .orValue(...) what it is then")
	case !hasJSONForm(arg) && t.Kind() != reflect.Interface: // given as text, which it is not
		err = wrongTypeError(jsonvalue.TypeName(arg), t)
	default:
		err = setVariable(into, native)
	}
	return into, err
}

// hasJSONForm reports whether a value has a form of its own in JSON.
func hasJSONForm(arg ref.Val) bool {
	switch arg.(type) {
	case types.String, types.Int, types.Bool, types.Double, types.Null, *types.Optional, traits.Lister, traits.Mapper:
		return true
	}
	return false
}

// wrongTypeError is the error of a value that is of another type than is declared.
func wrongTypeError(got string, want reflect.Type) error {
	as, _ := celTypeOf(want, false)
	return fmt.Errorf("must be %s, is %s", as, got)
}

// setVariable sets a variable to what is JSON-like. An entry of a map that is null is none, unless the map may hold anything.
func setVariable(into reflect.Value, native any) error {
	t := into.Type()
	kind := t.Kind()
	if t == bytesType || t == durationType || t == timeType { // none of JSON's
		kind = reflect.Invalid
	}
	switch v := native.(type) {
	case []any:
		if kind == reflect.Slice {
			return setListElements(into, v)
		}
	case map[string]any:
		if kind == reflect.Map {
			return setMapEntries(into, v)
		}
	case int64:
		if (kind == reflect.Int64 || kind == reflect.Int) && !into.OverflowInt(v) {
			into.SetInt(v)
			return nil
		}
	case string, bool, float64:
		if value := reflect.ValueOf(v); kind == value.Kind() {
			into.Set(value.Convert(t))
			return nil
		}
	}
	if kind != reflect.Interface {
		return wrongTypeError(jsonvalue.TypeName(native), t)
	}
	if native != nil {
		into.Set(reflect.ValueOf(native))
	}
	return nil
}

func setListElements(into reflect.Value, list []any) error {
	into.Set(reflect.MakeSlice(into.Type(), len(list), len(list)))
	for i, element := range list {
		if err := setVariable(into.Index(i), element); err != nil {
			return fmt.Errorf("has an element [%d] that %w", i, err)
		}
	}
	return nil
}

// setMapEntries says nothing of the key of what is wrong, which may be nobody's business.
func setMapEntries(into reflect.Value, m map[string]any) error {
	t := into.Type()
	into.Set(reflect.MakeMapWithSize(t, len(m)))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if m[key] == nil && t.Elem().Kind() != reflect.Interface {
			continue
		}
		element := reflect.New(t.Elem()).Elem()
		if err := setVariable(element, m[key]); err != nil {
			return fmt.Errorf("has an entry that %w", err)
		}
		into.SetMapIndex(reflect.ValueOf(key).Convert(t.Key()), element)
	}
	return nil
}

// resultValue is a copy of what a function gave as a value of CEL. The error continues a sentence; it is
// meter.ErrResultTooLarge if there is more than is copied.
func resultValue(given any) (ref.Val, error) {
	switch v := given.(type) {
	case []byte:
		if len(v) > meter.MaxResultBytes {
			return nil, meter.ErrResultTooLarge
		}
		return types.Bytes(bytes.Clone(v)), nil
	case time.Duration:
		return types.Duration{Duration: v}, nil
	case time.Time:
		if year := v.UTC().Year(); year < 1 || year > 9999 {
			return nil, errors.New("gives a time that is not in the years 1 to 9999")
		}
		return types.Timestamp{Time: v.UTC().Round(0)}, nil
	}
	c := resultCopier{bytesLeft: meter.MaxResultBytes}
	native, err := c.copyValue(reflect.ValueOf(given), 0)
	if err != nil {
		return nil, err
	}
	return types.DefaultTypeAdapter.NativeToValue(native), nil
}

// maxDepth is how many lists and maps may stand in each other: as many as Kubernetes reads. What holds itself ends here, or
// at its size.
const maxDepth = 10_000

// resultCopier makes JSON-like values of what a function gave. It stops when no bytes are left.
type resultCopier struct{ bytesLeft int }

// chargeBytes counts a value of so many bytes of text.
func (c *resultCopier) chargeBytes(size int) error {
	c.bytesLeft -= size + 8
	if c.bytesLeft < 0 {
		return meter.ErrResultTooLarge
	}
	return nil
}

func (c *resultCopier) copyValue(v reflect.Value, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("gives more than %d lists and maps in each other", maxDepth)
	}
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		return nil, c.chargeBytes(0)
	}
	if t := v.Type(); t != bytesType && t != durationType && t != timeType {
		switch v.Kind() {
		case reflect.Bool:
			return v.Bool(), c.chargeBytes(0)
		case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
			return v.Int(), c.chargeBytes(0)
		case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
			if v.Uint() <= math.MaxInt64 {
				return int64(v.Uint()), c.chargeBytes(0)
			}
		case reflect.Float32, reflect.Float64:
			return v.Float(), c.chargeBytes(0)
		case reflect.String:
			return c.copyValidText(v.String())
		case reflect.Slice:
			return c.copyListElements(v, depth)
		case reflect.Map:
			if t.Key().Kind() == reflect.String {
				return c.copyMapEntries(v, depth)
			}
		}
	}
	return nil, fmt.Errorf("gives a value of the Go type %s, which is none of JSON", v.Type())
}

// copyValidText refuses what the API server would store as another text, so that nothing would come to rest.
func (c *resultCopier) copyValidText(text string) (string, error) {
	if !utf8.ValidString(text) {
		return "", errors.New("gives text that is not UTF-8: give such bytes as []byte")
	}
	return text, c.chargeBytes(len(text))
}

func (c *resultCopier) copyListElements(v reflect.Value, depth int) (any, error) {
	if err := c.chargeBytes(0); err != nil || v.Len() > c.bytesLeft/8 {
		return nil, meter.ErrResultTooLarge
	}
	list := make([]any, v.Len())
	for i := range list {
		var err error
		if list[i], err = c.copyValue(v.Index(i), depth+1); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (c *resultCopier) copyMapEntries(v reflect.Value, depth int) (any, error) {
	if err := c.chargeBytes(0); err != nil || v.Len() > c.bytesLeft/16 {
		return nil, meter.ErrResultTooLarge
	}
	keys := v.MapKeys() // sorted, so that the same entry is refused each time
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	m := make(map[string]any, len(keys))
	for _, name := range keys {
		key, err := c.copyValidText(name.String())
		if err != nil {
			return nil, err
		}
		if m[key], err = c.copyValue(v.MapIndex(name), depth+1); err != nil {
			return nil, err
		}
	}
	return m, nil
}
