package ssadiff

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/resource"
)

// isEmpty reports whether v counts as not there: null, or a map or list without
// elements.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

func isComposite(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// equalScalar compares two values, numbers by value. Maps and lists are equal to
// nothing.
func equalScalar(a, b any) bool {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return ok && a == b
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case nil:
		return b == nil
	}
	return equalNumber(a, b)
}

func equalNumber(a, b any) bool {
	x, xInt, ok := numberOf(a)
	if !ok {
		return false
	}
	y, yInt, ok := numberOf(b)
	return ok && x == y && xInt == yInt
}

// numberOf returns the value of a number as a float and, where the float is a whole
// number in range, as an integer, which is exact beyond 2^53.
func numberOf(v any) (f float64, i int64, ok bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), v, true
	case int:
		return float64(v), int64(v), true
	case int32:
		return float64(v), int64(v), true
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<63 {
			return v, int64(v), true
		}
		return v, 0, true
	}
	return 0, 0, false
}

// equalQuantity compares below maps of quantities, which the API server rewrites
// into a canonical form.
func (d *comparison) equalQuantity(want, have any) bool {
	if len(d.path) < 2 {
		return false
	}
	switch d.path[len(d.path)-2].name {
	case "limits", "requests", "hard", "capacity":
	default:
		return false
	}
	w, ok := parseQuantity(want)
	if !ok {
		return false
	}
	h, ok := parseQuantity(have)
	return ok && w.Cmp(h) == 0
}

func parseQuantity(v any) (resource.Quantity, bool) {
	switch v.(type) {
	case string, int64, int, int32, float64:
	default:
		return resource.Quantity{}, false
	}
	q, err := resource.ParseQuantity(fmt.Sprint(v))
	return q, err == nil
}

// ObjectDigest returns a short text that stands for all values of an object.
func ObjectDigest(object map[string]any) string {
	return strconv.FormatUint(hashValue(fnvOffset, object), 36)
}

// hashValue feeds a value to a hash so that different values give different bytes.
func hashValue(h uint64, v any) uint64 {
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		slices.SortFunc(keys, cmp.Compare[string])
		h = hashText(h, 'm', strconv.Itoa(len(v)))
		for _, key := range keys {
			h = hashValue(hashText(h, 'k', key), v[key])
		}
	case []any:
		h = hashText(h, 'l', strconv.Itoa(len(v)))
		for _, e := range v {
			h = hashValue(h, e)
		}
	case string:
		h = hashText(h, 's', v)
	case int64:
		h = hashText(h, 'o', strconv.FormatInt(v, 10))
	default:
		h = hashText(h, 'o', fmt.Sprint(v))
	}
	return h
}

func hashText(h uint64, kind byte, s string) uint64 {
	h = hashByte(h, kind)
	for length, i := uint64(len(s)), 0; i < 8; i++ {
		h = hashByte(h, byte(length>>(8*i)))
	}
	return addString(h, s)
}

// note is a remark that stands in the place of a value.
type note string

const (
	nothing = note("nothing")
	// unseenValue: the manager owns the field; the projected object does not show its value.
	unseenValue = note("set")
	takenOver   = note("taken over by another manager")
)

// DescribeValue returns the type and size of a value, and nothing of what it holds: it may come
// from a Secret, and the text goes to logs and to statuses.
func DescribeValue(v any) string {
	switch v := v.(type) {
	case nil:
		return string(nothing)
	case note:
		return string(v)
	case string:
		return countText("a text of %d character", utf8.RuneCountInString(v))
	case bool:
		return "a bool"
	case []any:
		return countText("a list of %d element", len(v))
	case map[string]any:
		return countText("a map of %d key", len(v))
	}
	if _, _, ok := numberOf(v); ok {
		return "a number"
	}
	return fmt.Sprintf("a value of type %T", v)
}

// countText returns a text with a number, whose last word is in the plural unless it is 1.
func countText(format string, n int) string {
	if n != 1 {
		format += "s"
	}
	return fmt.Sprintf(format, n)
}

// hideValue shows only whether there is a value.
func hideValue(v any) string {
	switch v.(type) {
	case nil, note:
		return DescribeValue(v)
	}
	return "(hidden)"
}
