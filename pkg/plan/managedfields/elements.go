package managedfields

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// KeyField is one field of a list item's key.
type KeyField struct {
	Name  string
	Value any
}

// KeyText is a key as in `name=web` or `port=53,protocol=TCP`.
func KeyText(key []KeyField) string {
	parts := make([]string, len(key))
	for i, k := range key {
		parts[i] = fmt.Sprintf("%s=%v", k.Name, k.Value)
	}
	return strings.Join(parts, ",")
}

// ParseFieldName returns the name in a path element `f:name`.
func ParseFieldName(element string) (string, bool) { return strings.CutPrefix(element, "f:") }

// parseKey reads a path element as in `k:{"name":"web"}`; its fields are sorted
// by name.
func parseKey(element string) ([]KeyField, bool) {
	object, ok := strings.CutPrefix(element, "k:")
	if !ok {
		return nil, false
	}
	if key, ok := parsePlainKey(object); ok {
		return key, true
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(object), &fields); err != nil || len(fields) == 0 {
		return nil, false
	}
	key := make([]KeyField, 0, len(fields))
	for name, value := range fields {
		key = append(key, KeyField{name, value})
	}
	slices.SortFunc(key, func(a, b KeyField) int { return strings.Compare(a.Name, b.Name) })
	return key, true
}

// parsePlainKey reads the usual object: its fields are sorted, their values are strings without escapes
// or whole numbers, and there is no space. It returns false if the object is another one.
func parsePlainKey(object string) (key []KeyField, ok bool) {
	rest, ok := strings.CutPrefix(object, "{")
	if !ok || strings.ContainsAny(object, "\\ \t\n") {
		return nil, false
	}
	key = make([]KeyField, 0, 2)
	for {
		name, after, named := cutString(rest)
		after, parted := strings.CutPrefix(after, ":")
		value, after, valued := cutPlainValue(after)
		if !named || !parted || !valued || after == "" || len(key) > 0 && key[len(key)-1].Name >= name {
			return nil, false
		}
		key = append(key, KeyField{name, value})
		if after == "}" {
			return key, true
		}
		if rest, ok = strings.CutPrefix(after, ","); !ok {
			return nil, false
		}
	}
}

// cutString returns the text of the string without escapes that s begins with, and what is after it.
func cutString(s string) (text, after string, ok bool) {
	if s, ok = strings.CutPrefix(s, `"`); !ok {
		return "", s, false
	}
	return strings.Cut(s, `"`)
}

// cutPlainValue is cutString, also for a whole number that a float64 holds exactly.
func cutPlainValue(s string) (value any, after string, ok bool) {
	if text, after, ok := cutString(s); ok {
		return text, after, true
	}
	digits := 0
	for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
		digits++
	}
	if digits == 0 || digits > 15 || s[0] == '0' && digits > 1 {
		return nil, s, false
	}
	number, err := strconv.ParseFloat(s[:digits], 64)
	return number, s[digits:], err == nil
}

// ParseSetValue reads a path element as in `v:"x"`.
func ParseSetValue(element string) (any, bool) {
	value, ok := strings.CutPrefix(element, "v:")
	if !ok {
		return nil, false
	}
	var v any
	err := json.Unmarshal([]byte(value), &v)
	return v, err == nil
}
