// Package desired does to the object that a template gives what the API server, or Ambit, would
// have done to it anyway, so that it can be compared with the live one: whosever child it is. It
// changes the object that it is given, which the caller has rendered: itself, what is below ChangedKeys, and
// maps that hold null.
package desired

import (
	"encoding/base64"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/plan/ssadiff"
)

// ChangedKeys returns the fields of an object below which it is changed: by this package, and by who signs it.
func ChangedKeys() []string { return []string{"metadata", "data"} }

// CleanMetadata removes what is not a template's to set.
func CleanMetadata(meta map[string]any) {
	for key := range meta {
		if ssadiff.IsServerMetadata(key) && key != "name" {
			delete(meta, key)
		}
	}
}

// SubMap returns the map at a key of m, made if need be.
func SubMap(m map[string]any, key string) map[string]any {
	sub, ok := m[key].(map[string]any)
	if !ok {
		sub = map[string]any{}
		m[key] = sub
	}
	return sub
}

// DropNulls removes fields that are null: to the API server they are not there.
func DropNulls(v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if value == nil {
				delete(v, key)
				continue
			}
			DropNulls(value)
		}
	case []any:
		for _, e := range v {
			DropNulls(e)
		}
	}
}

// IsSecret reports whether objects of a kind are Secrets.
func IsSecret(gvk schema.GroupVersionKind) bool {
	return gvk == schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
}

// EncodeStringData turns a Secret's stringData into data, as the API server does:
// stringData itself can never be read back. If a value is no string, as the API
// server demands, it returns the key.
func EncodeStringData(secret map[string]any) (key string, ok bool) {
	plain, ok := secret["stringData"].(map[string]any)
	if !ok {
		return "", true
	}
	delete(secret, "stringData")
	data := SubMap(secret, "data")
	for _, key := range slices.Sorted(maps.Keys(plain)) {
		value, ok := plain[key].(string)
		if !ok {
			return key, false
		}
		data[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	return "", true
}

// SizeOf returns about how many bytes a value has as JSON, and how many mappings and lists
// stand in each other in it.
func SizeOf(v any) (bytes, depth int) {
	switch v := v.(type) {
	case string:
		return len(v) + 2, 0
	case map[string]any:
		bytes = 2
		for key, value := range v {
			b, d := SizeOf(value)
			bytes, depth = bytes+len(key)+4+b, max(depth, d)
		}
		return bytes, depth + 1
	case []any:
		bytes = 2
		for _, e := range v {
			b, d := SizeOf(e)
			bytes, depth = bytes+1+b, max(depth, d)
		}
		return bytes, depth + 1
	case int64, float64:
		return 8, 0
	}
	return 4, 0
}
