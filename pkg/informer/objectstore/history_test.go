package objectstore

import (
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/internal/packed"
)

func expect(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// thing is an object of namespace ns.
func thing(name string, spec any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Thing",
		"metadata": map[string]any{"name": name, "namespace": "ns", "uid": "uid-" + name},
		"spec":     spec,
	}}
}

func at(object *unstructured.Unstructured, rv int) *unstructured.Unstructured {
	object = object.DeepCopy()
	object.SetResourceVersion(strconv.Itoa(rv))
	return object
}

// history is what happened to the objects of an API server.
type history struct {
	rv      int
	objects map[types.NamespacedName]*unstructured.Unstructured
	events  []event
}

type event struct {
	rv      int
	object  *unstructured.Unstructured
	deleted bool
}

func newHistory() *history {
	return &history{rv: 100, objects: map[types.NamespacedName]*unstructured.Unstructured{}}
}

// put creates or changes an object, and returns it as the answer of the write.
func (h *history) put(object *unstructured.Unstructured) *unstructured.Unstructured {
	h.rv++
	object = at(object, h.rv)
	h.objects[NameOf(object)] = object
	h.events = append(h.events, event{rv: h.rv, object: object})
	return object.DeepCopy()
}

func (h *history) remove(object *unstructured.Unstructured) {
	h.rv++
	delete(h.objects, NameOf(object))
	h.events = append(h.events, event{rv: h.rv, object: at(object, h.rv), deleted: true})
}

// past is what there was at a resourceVersion.
func (h *history) past(rv int) map[types.NamespacedName]*unstructured.Unstructured {
	then := map[types.NamespacedName]*unstructured.Unstructured{}
	for _, e := range h.events {
		if e.rv > rv {
			break
		}
		then[NameOf(e.object)] = e.object
		if e.deleted {
			delete(then, NameOf(e.object))
		}
	}
	return then
}

// plainForm packs objects that share nothing.
type plainForm struct{}

func (plainForm) Pack(object *unstructured.Unstructured) packed.Map {
	return packed.PackMap(object.Object, nil)
}

func (plainForm) Unpack(object packed.Map) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: object.UnpackMap(nil)}
}

func newStore() *Store { return New(false, plainForm{}) }

// TestRecent: all readers get the same object as long as one of them has it.
func TestRecent(t *testing.T) {
	s := newStore()
	s.ReplaceAll(slices.Values([]*unstructured.Unstructured{at(thing("a", "x"), 1)}), "1")
	name := types.NamespacedName{Namespace: "ns", Name: "a"}
	first := s.GetObject(Subset{}, name)
	runtime.GC()
	expect(t, "what was stored", at(thing("a", "x"), 1), first)
	if again := s.ListSubset(Subset{})[0]; again != first {
		t.Error("a second reader got another object")
	}
	if c := s.SetObject(first); !c.IsEmpty() {
		t.Errorf("the same object again was taken for a change: %v", c)
	}
	expect(t, "that of its version", first, s.ObjectOfVersion(name, "1"))
}
