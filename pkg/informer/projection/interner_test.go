package projection

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/ambit-dev/ambit/pkg/internal/fields"
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
	for i := range 10 * generationEntries { // shared parts outlive the generations
		object := made(string(rune('a'+i%26)) + string(rune('a'+i/26)))
		spec, again := first.Object["spec"].(map[string]any), object.Object["spec"].(map[string]any)
		if !identicalValue(spec["template"], again["template"]) {
			t.Fatalf("after %d objects the template is there twice", i)
		}
		if identicalValue(spec, again) {
			t.Fatal("different parts are one")
		}
	}
	if parts := in.parts.count(); parts > 2*generationEntries {
		t.Errorf("%d parts are remembered", parts)
	}
}

// TestInternLetsGo: what only older versions of objects had is not remembered for longer
// than it takes to meet as many objects as there are, and what they share still is one.
func TestInternLetsGo(t *testing.T) {
	for _, objects := range []int{1, 2, 10} {
		t.Run(fmt.Sprint(objects), func(t *testing.T) {
			p := New(Config{Fields: fields.New("spec")})
			kept := make([]*unstructured.Unstructured, objects)
			for i := range 100 * objects {
				status := map[string]any{"message": fmt.Sprint("version ", i), "list": []any{fmt.Sprint("element ", i)}}
				object := thing(fmt.Sprint("object-", i%objects), map[string]any{"status": status, "template": map[string]any{"image": "one"}})
				object.SetResourceVersion(fmt.Sprint(i + 2))
				kept[i%objects] = projectDelivered(t, p, object)
				p.FitTo(min(i+1, objects))
			}
			// spec, status and list of each; the template; and strings: two of each, and keys.
			in := p.interner
			parts, texts := in.parts.count(), in.texts.count()
			if most := 2 * (3*(objects+1) + 5); parts > most {
				t.Errorf("%d parts are remembered, want at most %d", parts, most)
			}
			if most := 2 * (2*(objects+1) + 20); texts > most {
				t.Errorf("%d strings are remembered, want at most %d", texts, most)
			}
			for i := range objects {
				if !identicalValue(templateOf(kept[0]), templateOf(kept[i])) {
					t.Errorf("the template of object %d is there twice", i)
				}
			}
		})
	}
}

// TestPool: what two informers keep is shared if they keep the same, and remembered as long as one of
// them has objects of it.
func TestPool(t *testing.T) {
	pool := &Pool{}
	made := func(p *Projection, name string) any {
		return templateOf(projectDelivered(t, p, thing(name, map[string]any{"own": name, "template": map[string]any{"image": "one"}})))
	}
	spec := Config{Fields: fields.New("spec"), Manager: "us"}
	a, b := pool.New(spec), pool.New(Config{Fields: fields.New("spec"), Manager: "us"})
	other := pool.New(Config{Fields: fields.New("spec"), Manager: "them"})
	template := made(a, "a")
	if !identicalValue(template, made(b, "b")) || identicalValue(template, made(other, "c")) {
		t.Error("the template is not shared where the same is kept, or is where it is not")
	}
	a.FitTo(2)
	b.FitTo(1)
	a.Release()
	a.Release()
	if in := b.interner; in.objects != 1 || in.parts.count() > 0 {
		t.Errorf("of %d objects it remembers %d parts", in.objects, in.parts.count())
	}
	b.FitTo(2)
	template = made(b, "b")
	again := pool.New(spec)
	if !identicalValue(template, made(again, "again")) {
		t.Error("who comes later does not share")
	}
	a.ForgetShared()
	if identicalValue(template, made(again, "again")) {
		t.Error("what was read under a right that is gone is remembered")
	}
	if b.ForgetShared(); again.interner.objects != 0 {
		t.Errorf("%d objects of a store that was emptied still count", again.interner.objects)
	}
	for _, p := range []*Projection{b, again, other} {
		p.Release()
	}
	if len(pool.forms) > 0 {
		t.Errorf("%d forms are left", len(pool.forms))
	}
}

func templateOf(object *unstructured.Unstructured) any {
	spec, _ := object.Object["spec"].(map[string]any)
	return spec["template"]
}

func projectDelivered(t *testing.T, p *Projection, obj any) *unstructured.Unstructured {
	t.Helper()
	object, err := p.ProjectDelivered(obj)
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func thing(name string, spec any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Thing",
		"metadata": map[string]any{"name": name, "namespace": "ns", "uid": "uid-" + name},
		"spec":     spec,
	}}
}

// TestTransform: what was made for the Reflector is what is kept, and what is no object is
// an error.
func TestTransform(t *testing.T) {
	p := New(Config{Fields: fields.New("spec.kept")})
	first, err := p.Transform(thing("a", map[string]any{"kept": "x", "other": "y"}))
	if err != nil {
		t.Fatal(err)
	}
	want := thing("a", map[string]any{"kept": "x"})
	if diff := cmp.Diff(want, projectDelivered(t, p, first)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := p.Transform("text"); err == nil {
		t.Error("a text was taken for an object")
	}
}

// TestProjectWritten: the object stays the caller's.
func TestProjectWritten(t *testing.T) {
	p := New(Config{Fields: fields.New("spec")})
	written := thing("a", map[string]any{"list": []any{"x"}})
	kept := p.ProjectWritten(written)
	written.Object["spec"].(map[string]any)["list"].([]any)[0] = "changed"
	if diff := cmp.Diff(thing("a", map[string]any{"list": []any{"x"}}).Object, kept.Object); diff != "" {
		t.Errorf("it has changed with the caller's (-want +got):\n%s", diff)
	}
}

// TestPack: what is packed keeps the parts that other objects have as well, and no part that only versions of
// the same object have.
func TestPack(t *testing.T) {
	p := New(Config{Fields: fields.New("spec")})
	made := func(name, own string) *unstructured.Unstructured {
		return projectDelivered(t, p, thing(name, map[string]any{
			"template": map[string]any{"image": "memcached"}, "own": map[string]any{"of": own},
		}))
	}
	first := p.Pack(made("a", "a"))
	second := p.Pack(made("b", "b"))
	if second.SizeBytes() >= first.SizeBytes() {
		t.Errorf("the second object takes %d bytes, the first %d: they share nothing", second.SizeBytes(), first.SizeBytes())
	}
	b := made("b", "b")
	again := p.Unpack(p.Pack(b))
	if diff := cmp.Diff(b, again); diff != "" {
		t.Errorf("-packed +unpacked:\n%s", diff)
	}
	if !identicalValue(templateOf(b), templateOf(again)) {
		t.Error("a part that others have was copied")
	}
	if identicalValue(ownOf(b), ownOf(again)) {
		t.Error("a part that no other object has is kept as it is")
	}
}

func ownOf(object *unstructured.Unstructured) any {
	spec, _ := object.Object["spec"].(map[string]any)
	return spec["own"]
}
