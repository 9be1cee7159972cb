package ssadiff

import (
	"fmt"
	"unicode/utf8"
)

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
	if _, _, ok := number(v); ok {
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
