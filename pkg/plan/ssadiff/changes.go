package ssadiff

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// noteChange notes the difference at the current path for the merge patch, or that it takes an
// apply. A merge patch is as good where one scalar becomes another, below maps alone, and the
// manager's entries name that very field: then the API server merges the maps above key by key,
// and no key that others have added is to go. Both writes leave the field to the manager; the
// entry that holds it is that of operation Update after a patch.
func (d *comparison) noteChange(want, have any) {
	if !d.isOwn || !isScalar(want) || !isScalar(have) || slices.ContainsFunc(d.path, segment.isInList) {
		d.needsApply = true
		return
	}
	if d.changes == nil {
		d.changes = map[string]any{}
	}
	names := make([]string, len(d.path))
	for i, s := range d.path {
		names[i] = s.name
	}
	_ = unstructured.SetNestedField(d.changes, want, names...) // above it are only maps that were made here
}

// isInList reports whether a step of a path leads into a list.
func (s segment) isInList() bool { return s.index > 0 || s.key != nil || s.value != nil }

func isScalar(v any) bool {
	switch v.(type) {
	case string, bool, int64, float64:
		return true
	}
	return false
}
