package objectstore

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	_ "github.com/ambit-dev/ambit/test/draws"
)

func dying(object *unstructured.Unstructured) *unstructured.Unstructured {
	object = object.DeepCopy()
	now := metav1.NewTime(time.Unix(0, 0))
	object.SetDeletionTimestamp(&now)
	return object
}

// step is one call of the store; it returns what happened.
type step func(*Store) []Change

func lists(rv int, objects ...*unstructured.Unstructured) step {
	return func(s *Store) []Change { return s.ReplaceAll(slices.Values(objects), strconv.Itoa(rv)) }
}

func shows(object *unstructured.Unstructured) step {
	return func(s *Store) []Change { return []Change{s.SetObject(object)} }
}

func showsDeleted(object *unstructured.Unstructured) step {
	return func(s *Store) []Change { return []Change{s.RemoveObject(object)} }
}

func passes(rv int) step {
	return func(s *Store) []Change { return s.AdvanceTo(strconv.Itoa(rv)) }
}

func writes(object *unstructured.Unstructured, belongs Selection) step {
	return func(s *Store) []Change { return []Change{s.ObserveWrite(object, belongs)} }
}

func deletes(object *unstructured.Unstructured) step {
	return func(s *Store) []Change { return []Change{s.ObserveDeletion(object)} }
}

func resets(s *Store) []Change {
	s.DropAll()
	return nil
}

func TestOwnWrites(t *testing.T) {
	a := func(rv int) *unstructured.Unstructured { return at(thing("a", fmt.Sprint(rv)), rv) }
	reborn := at(thing("a", "new"), 20)
	reborn.SetUID("another")
	byUID := a(0)
	byUID.SetResourceVersion("")
	cases := map[string]struct {
		reason string
		steps  []step
		told   []string
		want   []*unstructured.Unstructured
	}{
		"Echo": {
			"the event of an observed write tells nobody",
			[]step{lists(5), writes(a(7), Selected), shows(a(7)), passes(7)},
			[]string{"Added"}, []*unstructured.Unstructured{a(7)},
		},
		"EventFirst": {
			"the event was faster than the response",
			[]step{lists(5), shows(a(7)), passes(7), writes(a(7), Selected)},
			[]string{"Added"}, []*unstructured.Unstructured{a(7)},
		},
		"OlderEvents": {
			"events from before the write do not take it back",
			[]step{lists(5, a(4)), writes(a(9), Selected), shows(a(7)), passes(7), shows(a(9)), passes(9)},
			[]string{"Updated"}, []*unstructured.Unstructured{a(9)},
		},
		"OthersAfter": {
			"a later change by somebody else counts",
			[]step{lists(5, a(4)), writes(a(7), Selected), shows(a(7)), shows(a(9))},
			[]string{"Updated", "Updated"}, []*unstructured.Unstructured{a(9)},
		},
		"DeletedSince": {
			"the stream has passed the write without the object: it is gone",
			[]step{lists(5), shows(a(7)), passes(7), showsDeleted(a(8)), passes(8), writes(a(7), Selected)},
			[]string{"Added", "Deleted"}, nil,
		},
		"OldDeletion": {
			"the deletion of an earlier object of the name does not take the new one",
			[]step{lists(5, a(4)), writes(reborn, Selected), showsDeleted(a(10)), passes(10), shows(reborn)},
			[]string{"Updated"}, []*unstructured.Unstructured{reborn},
		},
		"NotForThisStream": {
			"what the stream passes without showing it goes again",
			[]step{lists(5), writes(a(7), Selected), passes(8)},
			[]string{"Added", "Deleted"}, nil,
		},
		"NotSelected": {
			"a write that takes the object out of the selection",
			[]step{lists(5, a(4)), writes(a(7), NotSelected), showsDeleted(a(7))},
			[]string{"Deleted"}, nil,
		},
		"PerhapsSelected": {
			"what only the API server can tell is left to it",
			[]step{lists(5), writes(a(7), SelectionUnknown)},
			nil, nil,
		},
		"PerhapsStillSelected": {
			"but what is there already is updated",
			[]step{lists(5, a(4)), writes(a(7), SelectionUnknown)},
			[]string{"Updated"}, []*unstructured.Unstructured{a(7)},
		},
		"LeftTheSelection": {
			"an update that took it out: the API server shows a deletion at the write's own resourceVersion",
			[]step{lists(5, a(4)), writes(a(7), SelectionUnknown), showsDeleted(a(7)), passes(7)},
			[]string{"Updated", "Deleted"}, nil,
		},
		"BeforeTheFirstList": {
			"the list is newer: it decides",
			[]step{writes(a(7), Selected), lists(9)},
			nil, nil,
		},
		"BeforeAStaleFirstList": {
			"the list is older: the write is not lost",
			[]step{writes(a(7), Selected), lists(5), shows(a(7)), passes(7)},
			[]string{}, []*unstructured.Unstructured{a(7)},
		},
		"TwiceBeforeTheFirstList": {
			"the last write counts",
			[]step{writes(a(9), Selected), writes(a(7), Selected), lists(5, a(4))},
			nil, []*unstructured.Unstructured{a(9)},
		},
		"RelistBehind": {
			"a relist from before the write does not take it",
			[]step{lists(5), writes(a(9), Selected), lists(7), shows(a(9))},
			[]string{"Added"}, []*unstructured.Unstructured{a(9)},
		},
		"RelistAhead": {
			"a relist from after the write does",
			[]step{lists(5), writes(a(9), Selected), lists(11)},
			[]string{"Added", "Deleted"}, nil,
		},
		"Restored": {
			"an API server restored from a backup goes back in time: so does the store",
			[]step{lists(50, a(49)), lists(5, a(4)), shows(a(6))},
			[]string{"Updated", "Updated"}, []*unstructured.Unstructured{a(6)},
		},
		"Deleted": {
			"events from before an own deletion do not bring the object back",
			[]step{lists(5, a(4)), deletes(a(4)), shows(a(5)), passes(5), showsDeleted(a(6)), passes(6)},
			[]string{"Deleted"}, nil,
		},
		"DeletedThenRelisted": {
			"nor does a list",
			[]step{lists(5, a(4)), deletes(a(4)), lists(6, a(4)), lists(8)},
			[]string{"Deleted"}, nil,
		},
		"DeletedBeforeTheFirstList": {
			"nor a first list",
			[]step{writes(a(4), Selected), deletes(a(4)), lists(5, a(4)), showsDeleted(a(6))},
			nil, nil,
		},
		"DeletedLingers": {
			"an object with a finalizer comes back, dying",
			[]step{lists(5, a(4)), deletes(a(4)), shows(dying(a(6))), showsDeleted(a(7))},
			[]string{"Deleted", "Added", "Deleted"}, nil,
		},
		"DeletedThenReborn": {
			"a new object of the name is another",
			[]step{lists(5, a(4)), deletes(a(4)), writes(reborn, Selected), showsDeleted(a(6)), shows(reborn)},
			[]string{"Deleted", "Added"}, []*unstructured.Unstructured{reborn},
		},
		"DeletedLongAgo": {
			"the stream has shown it already",
			[]step{lists(5), deletes(a(4))},
			nil, nil,
		},
		"DeletedByUID": {
			"a deletion of which only the uid is known is as good",
			[]step{lists(5, a(4)), deletes(byUID), shows(a(5)), lists(6, a(5)), writes(reborn, Selected), showsDeleted(a(7)), shows(reborn)},
			[]string{"Deleted", "Added"}, []*unstructured.Unstructured{reborn},
		},
		"DeletedByUIDBeforeTheFirstList": {
			"also before there is a list",
			[]step{deletes(byUID), lists(5, a(4)), showsDeleted(a(6))},
			nil, nil,
		},
		"RefusedBetween": {
			"a refused stream keeps own writes for its next list",
			[]step{lists(5), resets, writes(a(9), Selected), lists(7)},
			nil, []*unstructured.Unstructured{a(9)},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStore()
			s.IndexLabel("x")
			var told []string
			for _, do := range c.steps {
				for _, change := range do(s) {
					if !change.IsEmpty() {
						told = append(told, wordOf(change))
					}
				}
			}
			if !slices.Equal(c.told, told) {
				t.Errorf("%s: told %v, want %v", c.reason, told, c.told)
			}
			expect(t, c.reason, c.want, s.ListSubset(Subset{}))
			if len(s.ownWrites.deleted) > 0 {
				t.Errorf("still remembers deletions: %v", s.ownWrites.deleted)
			}
		})
	}
}

func wordOf(c Change) string {
	switch {
	case c.Old == nil:
		return "Added"
	case c.New == nil:
		return "Deleted"
	}
	return "Updated"
}

// TestOwnWritesAgainstHistory lets an informer follow a random history late, with
// relists, bookmarks and refusals, while own writes are observed at any time after
// they happened. A reader never sees an object as it was before an own write, and
// in the end sees exactly what there is.
func TestOwnWritesAgainstHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &historian{store: newStore(), server: newHistory(), wrote: map[types.NamespacedName]int{}}
		t.Repeat(map[string]func(*rapid.T){
			"other":    func(t *rapid.T) { h.write(t) },
			"own":      func(t *rapid.T) { h.own(t) },
			"delete":   func(t *rapid.T) { h.delete(t, false) },
			"ownDel":   func(t *rapid.T) { h.delete(t, true) },
			"answer":   h.respond,
			"event":    func(*rapid.T) { h.next() },
			"bookmark": func(*rapid.T) { h.bookmark() },
			"relist":   func(t *rapid.T) { h.relist(t) },
			"refuse":   func(*rapid.T) { h.refuse() },
			"":         h.check,
		})
		h.catchUp()
		h.compare(t)
	})
}

// historian is a server's history and a store that follows it.
type historian struct {
	server  *history
	store   *Store
	seen    int                          // the store's place in the history
	wrote   map[types.NamespacedName]int // last own write, observed
	answers []answer                     // of own writes, under way
	uids    int
}

type answer struct {
	of   types.NamespacedName
	take func()
}

func name(t *rapid.T) string { return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name") }

func (h *historian) write(t *rapid.T) *unstructured.Unstructured {
	n := name(t)
	object := thing(n, rapid.SampledFrom([]string{"1", "2"}).Draw(t, "spec"))
	if live, ok := h.server.objects[NameOf(object)]; ok {
		object.SetUID(live.GetUID())
	} else {
		h.uids++
		object.SetUID(types.UID(strconv.Itoa(h.uids)))
	}
	return h.server.put(object)
}

func (h *historian) own(t *rapid.T) {
	object := h.write(t)
	rv := h.server.rv
	h.answers = append(h.answers, answer{NameOf(object), func() {
		h.store.ObserveWrite(h.known(object, h.store.ObjectOfVersion), Selected)
		h.wrote[NameOf(object)] = max(rv, h.wrote[NameOf(object)])
	}})
}

// known is what the informer takes for an object where it can: what the store holds already.
func (h *historian) known(object *unstructured.Unstructured, find func(types.NamespacedName, string) *unstructured.Unstructured) *unstructured.Unstructured {
	known := find(NameOf(object), object.GetResourceVersion())
	if known == nil {
		return object
	}
	if diff := cmp.Diff(object, known); diff != "" {
		panic("it is another object: " + diff)
	}
	return known
}

// respond delivers the answer of an own write; those for one object come in
// order, for whoever writes it waits for one before the next.
func (h *historian) respond(t *rapid.T) {
	if len(h.answers) == 0 {
		return
	}
	of := rapid.SampledFrom(h.answers).Draw(t, "answer").of
	i := slices.IndexFunc(h.answers, func(a answer) bool { return a.of == of })
	h.answers[i].take()
	h.answers = slices.Delete(h.answers, i, i+1)
}

func (h *historian) delete(t *rapid.T, own bool) {
	object, ok := h.server.objects[NameOf(thing(name(t), nil))]
	if !ok {
		return
	}
	h.server.remove(object)
	rv := h.server.rv
	if own {
		h.answers = append(h.answers, answer{NameOf(object), func() {
			h.store.ObserveDeletion(object)
			h.wrote[NameOf(object)] = max(rv, h.wrote[NameOf(object)])
		}})
	}
}

// next delivers one event.
func (h *historian) next() {
	for _, e := range h.server.events {
		if !h.store.synced || e.rv <= h.seen {
			continue
		}
		if e.deleted {
			h.store.RemoveObject(e.object)
		} else {
			h.store.SetObject(h.known(e.object, h.store.OwnWrite))
		}
		h.seen = e.rv
		h.store.AdvanceTo(strconv.Itoa(e.rv))
		return
	}
}

func (h *historian) bookmark() {
	if h.store.synced {
		h.store.AdvanceTo(strconv.Itoa(h.seen))
	}
}

// relist gives a list that may be stale, but not older than what was seen.
func (h *historian) relist(t *rapid.T) {
	rv := rapid.IntRange(max(h.seen, 100), h.server.rv).Draw(t, "rv")
	h.store.ReplaceAll(slices.Values(h.past(rv)), strconv.Itoa(rv))
	h.seen = rv
}

// past is what the server had at a resourceVersion.
func (h *historian) past(rv int) []*unstructured.Unstructured {
	return slices.Collect(maps.Values(h.server.past(rv)))
}

func (h *historian) refuse() { h.store.DropAll() }

// check: what was observed is never taken back.
func (h *historian) check(t *rapid.T) {
	if !h.store.synced {
		return
	}
	for _, object := range h.past(h.server.rv) {
		wrote, ok := h.wrote[NameOf(object)]
		found, there := h.store.objects[NameOf(object)]
		if !ok || !there {
			continue
		}
		if rv, _ := strconv.Atoi(found.resourceVersion); rv < wrote {
			t.Fatalf("%s is shown at %d after an own write at %d", object.GetName(), rv, wrote)
		}
	}
	for name, found := range h.store.objects {
		rv, _ := strconv.Atoi(found.resourceVersion)
		if _, lives := h.server.objects[name]; !lives && rv < h.wrote[name] {
			t.Fatalf("%s is shown at %d after its own deletion at %d", name, rv, h.wrote[name])
		}
	}
}

func (h *historian) catchUp() {
	if !h.store.synced {
		h.store.ReplaceAll(slices.Values(h.past(100)), "100")
		h.seen = 100
	}
	for _, answer := range h.answers {
		answer.take()
	}
	for range h.server.events {
		h.next()
	}
	h.store.AdvanceTo(strconv.Itoa(h.server.rv))
}

func (h *historian) compare(t *rapid.T) {
	for name, live := range h.server.objects {
		found, ok := h.store.objects[name]
		if !ok || found.resourceVersion != live.GetResourceVersion() {
			t.Fatalf("in the end %s is not as it is on the server", name)
		}
	}
	w := h.store.ownWrites
	if len(h.store.objects) != len(h.server.objects) || len(w.unconfirmed)+len(w.held)+len(w.deleted) > 0 {
		t.Fatalf("in the end there is too much: %v, %+v", h.store.objects, w)
	}
}
