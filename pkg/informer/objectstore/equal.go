package objectstore

import (
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// equalObjects reports whether two objects differ in nothing but the resourceVersion.
func equalObjects(a, b *unstructured.Unstructured) bool {
	return a == b || equalMaps(a.Object, b.Object, func(key string, x, y any) bool {
		mx, okX := x.(map[string]any)
		my, okY := y.(map[string]any)
		if key != "metadata" || !okX || !okY {
			return equalValues(x, y)
		}
		return equalMaps(mx, my, func(key string, x, y any) bool {
			return key == "resourceVersion" || equalValues(x, y)
		})
	})
}

func equalMaps(a, b map[string]any, same func(key string, x, y any) bool) bool {
	if len(a) != len(b) {
		return false
	}
	for key, x := range a {
		if y, ok := b[key]; !ok || !same(key, x, y) {
			return false
		}
	}
	return true
}

// equalValues compares two JSON-like values. It is reflect.DeepEqual without the
// reflection, which is most of the cost of an event that changes nothing.
func equalValues(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && equalMaps(x, y, func(_ string, x, y any) bool { return equalValues(x, y) })
	case []any:
		y, ok := b.([]any)
		return ok && equalLists(x, y)
	case nil, string, int64, float64, bool:
		return a == b
	}
	return reflect.DeepEqual(a, b)
}

func equalLists(a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !equalValues(a[i], b[i]) {
			return false
		}
	}
	return true
}
