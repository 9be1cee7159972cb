// Package objectmeta reads the metadata of objects where it stands, without a copy: what plans
// are made from is shared with caches, and read again and again. A field of another type than
// it should have counts as absent.
package objectmeta

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// IsDeleting reports whether an object is being deleted.
func IsDeleting(obj *unstructured.Unstructured) bool {
	return FieldAt(obj.Object, "metadata", "deletionTimestamp") != nil
}

// AnnotationOf returns an annotation of an object; "" if it has none of that key.
func AnnotationOf(obj *unstructured.Unstructured, key string) string {
	return TextOf(FieldAt(obj.Object, "metadata", "annotations", key))
}

// FieldAt returns what is at a path of nested maps, or nil.
func FieldAt(m map[string]any, path ...string) any {
	var v any = m
	for _, key := range path {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

// TextOf returns a value that is a text, else "".
func TextOf(v any) string {
	s, _ := v.(string)
	return s
}

// SortedByName returns objects by namespace and name; the given slice, which is not changed, if it is so
// already.
func SortedByName(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	byName := func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()),
			cmp.Compare(a.GetUID(), b.GetUID()))
	}
	if slices.IsSortedFunc(objects, byName) {
		return objects
	}
	objects = slices.Clone(objects)
	slices.SortFunc(objects, byName)
	return objects
}

// LabelView reads the labels of an object. Its zero value has none.
type LabelView map[string]any

var _ labels.Labels = LabelView(nil)

// LabelsOf returns the labels of an object, which are not changed.
func LabelsOf(obj *unstructured.Unstructured) LabelView {
	m, _ := FieldAt(obj.Object, "metadata", "labels").(map[string]any)
	return m
}

// Has implements labels.Labels.
func (l LabelView) Has(label string) bool { _, ok := l.Lookup(label); return ok }

// Get implements labels.Labels.
func (l LabelView) Get(label string) string { s, _ := l.Lookup(label); return s }

// Lookup implements labels.Labels.
func (l LabelView) Lookup(label string) (string, bool) { s, ok := l[label].(string); return s, ok }
