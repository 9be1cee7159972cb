package objectstore

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func entryOf(manager string) map[string]any {
	return map[string]any{"manager": manager, "operation": "Apply"}
}

func full() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Thing",
		"metadata": map[string]any{
			"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": "7", "generation": int64(2),
			"deletionTimestamp": "2026-01-01T00:00:00Z",
			"labels":            map[string]any{"l": "1"}, "annotations": map[string]any{"big": "text"},
			"managedFields": []any{entryOf("us"), entryOf("them"), entryOf("us"), entryOf("u/1")},
		},
		"spec": map[string]any{"replicas": int64(1), "template": "big"}, "status": map[string]any{"ready": true},
	}}
}

func TestEqual(t *testing.T) {
	change := func(path []string, value any) *unstructured.Unstructured {
		obj := full()
		if err := unstructured.SetNestedField(obj.Object, value, path...); err != nil {
			t.Fatal(err)
		}
		return obj
	}
	cases := map[string]struct {
		reason string
		other  *unstructured.Unstructured
		want   bool
	}{
		"Same":            {"nothing differs", full(), true},
		"ResourceVersion": {"it changes with every write", change([]string{"metadata", "resourceVersion"}, "8"), true},
		"Generation":      {"kstatus reads it", change([]string{"metadata", "generation"}, int64(3)), false},
		"Label":           {"labels select", change([]string{"metadata", "labels", "l"}, "2"), false},
		"MoreLabels":      {"labels select", change([]string{"metadata", "labels", "m"}, "2"), false},
		"Spec":            {"a number", change([]string{"spec", "replicas"}, int64(2)), false},
		"Type":            {"1 is not 1.0: types are told apart, for readers may", change([]string{"spec", "replicas"}, 1.0), false},
		"Missing":         {"null is not nothing", change([]string{"spec", "other"}, nil), false},
		"List":            {"an element", change([]string{"metadata", "managedFields"}, []any{entryOf("us"), entryOf("them"), entryOf("they")}), false},
		"ShortList":       {"a length", change([]string{"metadata", "managedFields"}, []any{entryOf("us")}), false},
		"SpecVersion":     {"only metadata.resourceVersion is irrelevant", change([]string{"spec", "resourceVersion"}, "8"), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			expect(t, c.reason, c.want, equalObjects(full(), c.other))
			expect(t, "the other way round", c.want, equalObjects(c.other, full()))
		})
	}
}
