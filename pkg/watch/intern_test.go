package watch

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
)

// TestInternKeepsObjects: whatever is shared, every object stays what it was.
func TestInternKeepsObjects(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := newInterner()
		var objects, copies []*unstructured.Unstructured
		for range rapid.IntRange(1, 20).Draw(t, "objects") {
			object := &unstructured.Unstructured{Object: drawMap(t, 3)}
			object.Object["metadata"] = drawMap(t, 2)
			objects, copies = append(objects, object), append(copies, object.DeepCopy())
			in.object(object)
		}
		for i := range objects {
			if diff := cmp.Diff(copies[i].Object, objects[i].Object); diff != "" {
				t.Fatalf("object %d changed:\n%s", i, diff)
			}
		}
	})
}

func drawMap(t *rapid.T, depth int) map[string]any {
	m := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "fields") {
		m[rapid.SampledFrom([]string{"a", "b", "name", ""}).Draw(t, "key")] = drawValue(t, depth)
	}
	return m
}

func drawValue(t *rapid.T, depth int) any {
	kinds := []string{"string", "int", "float", "true", "false", "null"}
	if depth > 0 {
		kinds = append(kinds, "map", "list", "map", "list")
	}
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "string":
		return rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "text")
	case "int":
		return rapid.SampledFrom([]int64{0, 1, 2}).Draw(t, "int")
	case "float":
		return rapid.SampledFrom([]float64{0, 1, 2.5}).Draw(t, "float")
	case "true":
		return true
	case "false":
		return false
	case "map":
		return drawMap(t, depth-1)
	case "list":
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			list = append(list, drawValue(t, depth-1))
		}
		return list
	}
	return nil
}

func TestInternShares(t *testing.T) {
	in := newInterner()
	made := func(name string) *unstructured.Unstructured {
		object := thing(name, map[string]any{"own": name, "template": map[string]any{"list": []any{"a", map[string]any{"b": int64(1)}}}})
		in.object(object)
		return object
	}
	first := made("one")
	for i := range 10 * internedParts { // shared parts outlive the generations
		object := made(string(rune('a'+i%26)) + string(rune('a'+i/26)))
		spec, again := first.Object["spec"].(map[string]any), object.Object["spec"].(map[string]any)
		if !same(spec["template"], again["template"]) {
			t.Fatalf("after %d objects the template is there twice", i)
		}
		if same(spec, again) {
			t.Fatal("different parts are one")
		}
	}
	if parts := len(in.young) + len(in.old); parts > 2*internedParts {
		t.Errorf("%d parts are remembered", parts)
	}
}
