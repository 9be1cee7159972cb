package plan

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/resource"
)

// note is a remark that stands in the place of a value.
type note string

const (
	nothing = note("nothing")
	// unseen is in our entries; the projected object does not show its value.
	unseen    = note("set")
	takenOver = note("taken over by another manager")
)

// isEmpty says whether v counts as not there: null, or a map or list without
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
	x, xInt, ok := number(a)
	if !ok {
		return false
	}
	y, yInt, ok := number(b)
	return ok && x == y && xInt == yInt
}

// number returns the value of a number as a float and, where the float is a whole
// number in range, as an integer, which is exact beyond 2^53.
func number(v any) (f float64, i int64, ok bool) {
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
func (d *differ) equalQuantity(want, have any) bool {
	if len(d.path) < 2 {
		return false
	}
	switch d.path[len(d.path)-2].name {
	case "limits", "requests", "hard", "capacity":
	default:
		return false
	}
	w, ok := quantity(want)
	if !ok {
		return false
	}
	h, ok := quantity(have)
	return ok && w.Cmp(h) == 0
}

func quantity(v any) (resource.Quantity, bool) {
	switch v.(type) {
	case string, int64, int, int32, float64:
	default:
		return resource.Quantity{}, false
	}
	q, err := resource.ParseQuantity(fmt.Sprint(v))
	return q, err == nil
}

// valueText says of what type and size a value is, and nothing of what it holds: it may
// come from a Secret, and the text goes to logs and to statuses.
func valueText(v any) string {
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
	if _, _, ok := number(v); ok {
		return "a number"
	}
	return fmt.Sprintf("a value of type %T", v)
}

// countText is a text with a number, the last word of which it counts.
func countText(format string, n int) string {
	if n != 1 {
		format += "s"
	}
	return fmt.Sprintf(format, n)
}

// hidden shows only whether there is a value.
func hidden(v any) string {
	switch v.(type) {
	case nil, note:
		return valueText(v)
	}
	return "(hidden)"
}

// shorten cuts a text to at most limit runes, the mark for what is left out
// included.
func shorten(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-3]) + "..."
}

// segment is one step of a path: a field's name, a list position counted from 1,
// the key of a list item, or the value of a set's element. Names and keys are shown.
type segment struct {
	name  string
	index int
	key   []keyField
	value any
}

func pathText(path []segment) string {
	var b strings.Builder
	for _, s := range path {
		switch {
		case s.index > 0:
			fmt.Fprintf(&b, "[%d]", s.index-1)
		case s.key != nil:
			b.WriteString("[" + keyText(s.key) + "]")
		case s.value != nil:
			b.WriteString("[=" + valueText(s.value) + "]")
		case s.name == "" || strings.ContainsAny(s.name, "./[] "):
			b.WriteString("[" + strconv.Quote(s.name) + "]")
		case b.Len() == 0:
			b.WriteString(s.name)
		default:
			b.WriteString("." + s.name)
		}
	}
	return b.String()
}

func keyText(key []keyField) string {
	parts := make([]string, len(key))
	for i, k := range key {
		parts[i] = fmt.Sprintf("%s=%v", k.name, k.value)
	}
	return strings.Join(parts, ",")
}

// hashValue feeds a value to h so that different values give different bytes.
func hashValue(h hash.Hash64, v any) {
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		slices.SortFunc(keys, cmp.Compare[string])
		hashText(h, 'm', strconv.Itoa(len(v)))
		for _, key := range keys {
			hashText(h, 'k', key)
			hashValue(h, v[key])
		}
	case []any:
		hashText(h, 'l', strconv.Itoa(len(v)))
		for _, e := range v {
			hashValue(h, e)
		}
	case string:
		hashText(h, 's', v)
	default:
		hashText(h, 'o', fmt.Sprint(v))
	}
}

func hashText(h hash.Hash64, kind byte, s string) {
	var head [9]byte
	head[0] = kind
	binary.LittleEndian.PutUint64(head[1:], uint64(len(s)))
	h.Write(head[:])
	h.Write([]byte(s))
}
