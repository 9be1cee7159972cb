package objectmeta

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestRead: fields are read where they are, and what is of another type is not there.
func TestRead(t *testing.T) {
	for name, tc := range map[string]struct {
		reason     string
		metadata   any
		annotation string
		label      string
		hasLabel   bool
		deleting   bool
	}{
		"Nothing":  {reason: "an object without metadata", metadata: nil},
		"Text":     {reason: "metadata that is none", metadata: "text"},
		"There":    {reason: "all is there", metadata: map[string]any{"annotations": map[string]any{"a": "x"}, "labels": map[string]any{"l": "y"}, "deletionTimestamp": "now"}, annotation: "x", label: "y", hasLabel: true, deleting: true},
		"NoString": {reason: "values of another type", metadata: map[string]any{"annotations": map[string]any{"a": int64(1)}, "labels": map[string]any{"l": nil}}},
		"NoMap":    {reason: "a list for a map", metadata: map[string]any{"annotations": []any{"a"}, "labels": []any{"l"}}},
		"Empty":    {reason: "an empty label is one", metadata: map[string]any{"labels": map[string]any{"l": ""}}, hasLabel: true},
	} {
		t.Run(name, func(t *testing.T) {
			obj := &unstructured.Unstructured{Object: map[string]any{"metadata": tc.metadata}}
			if got := AnnotationOf(obj, "a"); got != tc.annotation {
				t.Errorf("%s: annotation %q, want %q", tc.reason, got, tc.annotation)
			}
			if labels := LabelsOf(obj); labels.Get("l") != tc.label || labels.Has("l") != tc.hasLabel {
				t.Errorf("%s: label %q, %t", tc.reason, labels.Get("l"), labels.Has("l"))
			}
			if got := IsDeleting(obj); got != tc.deleting {
				t.Errorf("%s: deleting %t", tc.reason, got)
			}
		})
	}
}
