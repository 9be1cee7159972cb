package handlerindex

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/ambit-dev/ambit/pkg/informer/objectstore"
	_ "github.com/ambit-dev/ambit/test/draws"
)

type handler struct{ _ int } // of a size, so that no two have one address

// thing is an object of namespace ns with a label.
func thing(name, owner string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": name, "namespace": "ns", "labels": map[string]any{"owner": owner}},
	}}
}

// TestIndexAgainstList checks the index against a list of all needs.
func TestIndexAgainstList(t *testing.T) {
	type need struct {
		sub  *handler
		what string
	}
	// What a need is about, and whether that is a, labelled x or y.
	parts := map[string]struct {
		part objectstore.Subset
		x, y bool
	}{
		"all":   {objectstore.Subset{}, true, true},
		"x":     {objectstore.Subset{Label: "owner", Value: "x"}, true, false},
		"y":     {objectstore.Subset{Label: "owner", Value: "y"}, false, true},
		"a, b":  {objectstore.SubsetOfNames([]string{"a", "b"}, "ns"), true, true},
		"ns/a":  {objectstore.SubsetOfNames([]string{"ns/a"}, "ns"), true, true},
		"ns2/a": {objectstore.SubsetOfNames([]string{"ns2/a"}, "ns"), false, false},
		"none":  {objectstore.SubsetOfNames([]string{}, "ns"), false, false},
	}
	rapid.Check(t, func(t *rapid.T) {
		var x Index[*handler]
		needs := map[need]bool{}
		subs := make([]*handler, 2*FewHandlers)
		for i := range subs {
			subs[i] = &handler{}
		}
		draw := func(t *rapid.T) need {
			return need{rapid.SampledFrom(subs).Draw(t, "sub"), rapid.SampledFrom(slices.Sorted(maps.Keys(parts))).Draw(t, "part")}
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				if n := draw(t); !needs[n] {
					needs[n] = true
					x.Add(n.sub, parts[n.what].part)
				}
			},
			"remove": func(t *rapid.T) {
				if n := draw(t); needs[n] {
					delete(needs, n)
					x.Remove(n.sub, parts[n.what].part)
				}
			},
			"": func(t *rapid.T) {
				object, old := thing("a", "x"), thing("a", "y")
				want, either, all := map[*handler]bool{}, map[*handler]bool{}, map[*handler]bool{}
				for n := range needs {
					all[n.sub] = true
					if parts[n.what].x {
						want[n.sub] = true
					}
					if parts[n.what].x || parts[n.what].y {
						either[n.sub] = true
					}
				}
				if got := setOf(x.HandlersOf(nil, objectstore.Change{New: object})); !maps.Equal(want, got) {
					t.Fatalf("of x: %d handlers, want %d", len(got), len(want))
				}
				if got := setOf(x.HandlersOf(nil, objectstore.Change{Old: old, New: object})); !maps.Equal(either, got) {
					t.Fatalf("from y to x: %d handlers, want %d", len(got), len(either))
				}
				if got := setOf(x.AllHandlers(nil)); !maps.Equal(all, got) || x.Needs() != len(needs) {
					t.Fatalf("everybody: %d handlers, want %d; count %d, want %d", len(got), len(all), x.Needs(), len(needs))
				}
			},
		})
	})
}

func setOf(subs []*handler) map[*handler]bool {
	set := map[*handler]bool{}
	for _, sub := range subs {
		set[sub] = true
	}
	return set
}

// TestManyByName: a name that two needs of a handler have in common, among
// many handlers, stays until both are gone.
func TestManyByName(t *testing.T) {
	var x Index[*handler]
	var handlers []*handler
	both := objectstore.SubsetOfNames([]string{"a", "b"}, "ns")
	onlyA := objectstore.SubsetOfNames([]string{"a"}, "ns")
	for range 2 * FewHandlers {
		h := &handler{}
		handlers = append(handlers, h)
		x.Add(h, both)
	}
	x.Add(handlers[0], onlyA)
	x.Remove(handlers[0], both)
	countOf := func(name string) int {
		return len(setOf(x.HandlersOf(nil, objectstore.Change{New: thing(name, "x")})))
	}
	if ofA, ofB := countOf("a"), countOf("b"); ofA != len(handlers) || ofB != len(handlers)-1 {
		t.Errorf("%d handlers of a, %d of b, want %d and one less", ofA, ofB, len(handlers))
	}
	x.Remove(handlers[0], onlyA)
	for _, h := range handlers[1:] {
		x.Remove(h, both)
	}
	if x.Needs() != 0 || len(x.byName) != 0 || len(x.AllHandlers(nil)) != 0 {
		t.Errorf("something is left: %+v", x)
	}
}

// BenchmarkHandlersByName is an event for the one owner that named the object.
func BenchmarkHandlersByName(b *testing.B) {
	for _, owners := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("owners=%d", owners), func(b *testing.B) {
			var x Index[*handler]
			for i := range owners {
				x.Add(&handler{}, objectstore.SubsetOfNames([]string{fmt.Sprint("thing-", i)}, "ns"))
			}
			object := thing("thing-5", "x")
			var to [1]*handler
			b.ReportAllocs()
			for b.Loop() {
				if len(x.HandlersOf(to[:0], objectstore.Change{Old: object, New: object})) != 1 {
					b.Fatal("not one handler")
				}
			}
		})
	}
}
