package informer

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	_ "github.com/ambit-dev/ambit/test/draws"
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
			in.internObject(object)
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
		in.internObject(object)
		return object
	}
	first := made("one")
	for i := range 10 * internedParts { // shared parts outlive the generations
		object := made(string(rune('a'+i%26)) + string(rune('a'+i/26)))
		spec, again := first.Object["spec"].(map[string]any), object.Object["spec"].(map[string]any)
		if !identicalValue(spec["template"], again["template"]) {
			t.Fatalf("after %d objects the template is there twice", i)
		}
		if identicalValue(spec, again) {
			t.Fatal("different parts are one")
		}
	}
	if parts := len(in.young) + len(in.old); parts > 2*internedParts {
		t.Errorf("%d parts are remembered", parts)
	}
}

// TestInternLetsGo: what only older versions of objects had is not remembered for longer
// than it takes to meet as many objects as there are, and what they share still is one.
func TestInternLetsGo(t *testing.T) {
	for _, objects := range []int{1, 2, 10} {
		t.Run(fmt.Sprint(objects), func(t *testing.T) {
			st := newSharedInformer(New(Options{Clients: clientsOfNobody}), needOf("a"))
			epoch := st.beginEpoch(func() {})
			st.listReceived(epoch, nil, "1")
			version := func(i int) *unstructured.Unstructured {
				status := map[string]any{"message": fmt.Sprint("version ", i), "list": []any{fmt.Sprint("element ", i)}}
				object := thing(fmt.Sprint("object-", i%objects), map[string]any{"status": status, "template": map[string]any{"image": "one"}})
				object.SetResourceVersion(fmt.Sprint(i + 2))
				return object
			}
			for i := range 100 * objects {
				if err := (reflectorStore{informer: st, epoch: epoch}).Update(version(i)); err != nil {
					t.Fatal(err)
				}
			}
			// spec, status and list of each; the template; and strings: two of each, and keys.
			parts, texts := len(st.interner.young)+len(st.interner.old), len(st.interner.youngTexts)+len(st.interner.oldTexts)
			if most := 2 * (3*(objects+1) + 5); parts > most {
				t.Errorf("%d parts are remembered, want at most %d", parts, most)
			}
			if most := 2 * (2*(objects+1) + 20); texts > most {
				t.Errorf("%d strings are remembered, want at most %d", texts, most)
			}
			template := func(i int) any {
				spec, _ := st.store.objects[nameOf(version(i))].object.Object["spec"].(map[string]any)
				return spec["template"]
			}
			for i := range objects {
				if !identicalValue(template(0), template(i)) {
					t.Errorf("the template of object %d is there twice", i)
				}
			}
		})
	}
}

// TestInternForgetsNothingInAList: an own write while the first list is on its way does
// not part what its objects share.
func TestInternForgetsNothingInAList(t *testing.T) {
	st := newSharedInformer(New(Options{Clients: clientsOfNobody}), needOf("a"))
	epoch := st.beginEpoch(func() {})
	made := func(name string) any {
		object, err := st.projectDelivered(thing(name, map[string]any{"own": name, "template": map[string]any{"image": "one"}}))
		if err != nil {
			t.Fatal(err)
		}
		return object.Object["spec"].(map[string]any)["template"]
	}
	first := made("first")
	st.observeWrite(thing("mine", "other"), nil)
	if !identicalValue(first, made("second")) {
		t.Error("the template is there twice")
	}
	st.listReceived(epoch, nil, "1")
}
