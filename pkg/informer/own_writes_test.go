package informer

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

func at(object *unstructured.Unstructured, rv int) *unstructured.Unstructured {
	object = object.DeepCopy()
	object.SetResourceVersion(strconv.Itoa(rv))
	return object
}

func dying(object *unstructured.Unstructured) *unstructured.Unstructured {
	object = object.DeepCopy()
	now := metav1.NewTime(time.Unix(0, 0))
	object.SetDeletionTimestamp(&now)
	return object
}

// step is one call of the store; it returns what happened, one letter a change.
type step func(*store) []storeChange

func lists(rv int, objects ...*unstructured.Unstructured) step {
	return func(s *store) []storeChange { return s.replaceAll(objects, strconv.Itoa(rv)) }
}

func shows(object *unstructured.Unstructured) step {
	return func(s *store) []storeChange { return []storeChange{s.setObject(object)} }
}

func showsDeleted(object *unstructured.Unstructured) step {
	return func(s *store) []storeChange { return []storeChange{s.removeObject(object)} }
}

func passes(rv int) step {
	return func(s *store) []storeChange { return s.advanceTo(strconv.Itoa(rv)) }
}

func writes(object *unstructured.Unstructured, belongs selection) step {
	return func(s *store) []storeChange { return []storeChange{s.observeWrite(object, belongs)} }
}

func deletes(object *unstructured.Unstructured) step {
	return func(s *store) []storeChange { return []storeChange{s.observeDeletion(object)} }
}

func resets(s *store) []storeChange {
	s.reset()
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
		told   []EventType
		want   []*unstructured.Unstructured
	}{
		"Echo": {
			"the event of an observed write tells nobody",
			[]step{lists(5), writes(a(7), selected), shows(a(7)), passes(7)},
			[]EventType{Added}, []*unstructured.Unstructured{a(7)},
		},
		"EventFirst": {
			"the event was faster than the response",
			[]step{lists(5), shows(a(7)), passes(7), writes(a(7), selected)},
			[]EventType{Added}, []*unstructured.Unstructured{a(7)},
		},
		"OlderEvents": {
			"events from before the write do not take it back",
			[]step{lists(5, a(4)), writes(a(9), selected), shows(a(7)), passes(7), shows(a(9)), passes(9)},
			[]EventType{Updated}, []*unstructured.Unstructured{a(9)},
		},
		"OthersAfter": {
			"a later change by somebody else counts",
			[]step{lists(5, a(4)), writes(a(7), selected), shows(a(7)), shows(a(9))},
			[]EventType{Updated, Updated}, []*unstructured.Unstructured{a(9)},
		},
		"DeletedSince": {
			"the stream has passed the write without the object: it is gone",
			[]step{lists(5), shows(a(7)), passes(7), showsDeleted(a(8)), passes(8), writes(a(7), selected)},
			[]EventType{Added, Deleted}, nil,
		},
		"OldDeletion": {
			"the deletion of an earlier object of the name does not take the new one",
			[]step{lists(5, a(4)), writes(reborn, selected), showsDeleted(a(10)), passes(10), shows(reborn)},
			[]EventType{Updated}, []*unstructured.Unstructured{reborn},
		},
		"NotForThisStream": {
			"what the stream passes without showing it goes again",
			[]step{lists(5), writes(a(7), selected), passes(8)},
			[]EventType{Added, Deleted}, nil,
		},
		"NotSelected": {
			"a write that takes the object out of the selection",
			[]step{lists(5, a(4)), writes(a(7), notSelected), showsDeleted(a(7))},
			[]EventType{Deleted}, nil,
		},
		"PerhapsSelected": {
			"what only the API server can tell is left to it",
			[]step{lists(5), writes(a(7), selectionUnknown)},
			nil, nil,
		},
		"PerhapsStillSelected": {
			"but what is there already is updated",
			[]step{lists(5, a(4)), writes(a(7), selectionUnknown)},
			[]EventType{Updated}, []*unstructured.Unstructured{a(7)},
		},
		"LeftTheSelection": {
			"an update that took it out: the API server shows a deletion at the write's own resourceVersion",
			[]step{lists(5, a(4)), writes(a(7), selectionUnknown), showsDeleted(a(7)), passes(7)},
			[]EventType{Updated, Deleted}, nil,
		},
		"BeforeTheFirstList": {
			"the list is newer: it decides",
			[]step{writes(a(7), selected), lists(9)},
			nil, nil,
		},
		"BeforeAStaleFirstList": {
			"the list is older: the write is not lost",
			[]step{writes(a(7), selected), lists(5), shows(a(7)), passes(7)},
			[]EventType{}, []*unstructured.Unstructured{a(7)},
		},
		"TwiceBeforeTheFirstList": {
			"the last write counts",
			[]step{writes(a(9), selected), writes(a(7), selected), lists(5, a(4))},
			nil, []*unstructured.Unstructured{a(9)},
		},
		"RelistBehind": {
			"a relist from before the write does not take it",
			[]step{lists(5), writes(a(9), selected), lists(7), shows(a(9))},
			[]EventType{Added}, []*unstructured.Unstructured{a(9)},
		},
		"RelistAhead": {
			"a relist from after the write does",
			[]step{lists(5), writes(a(9), selected), lists(11)},
			[]EventType{Added, Deleted}, nil,
		},
		"Restored": {
			"an API server restored from a backup goes back in time: so does the store",
			[]step{lists(50, a(49)), lists(5, a(4)), shows(a(6))},
			[]EventType{Updated, Updated}, []*unstructured.Unstructured{a(6)},
		},
		"Deleted": {
			"events from before an own deletion do not bring the object back",
			[]step{lists(5, a(4)), deletes(a(4)), shows(a(5)), passes(5), showsDeleted(a(6)), passes(6)},
			[]EventType{Deleted}, nil,
		},
		"DeletedThenRelisted": {
			"nor does a list",
			[]step{lists(5, a(4)), deletes(a(4)), lists(6, a(4)), lists(8)},
			[]EventType{Deleted}, nil,
		},
		"DeletedBeforeTheFirstList": {
			"nor a first list",
			[]step{writes(a(4), selected), deletes(a(4)), lists(5, a(4)), showsDeleted(a(6))},
			nil, nil,
		},
		"DeletedLingers": {
			"an object with a finalizer comes back, dying",
			[]step{lists(5, a(4)), deletes(a(4)), shows(dying(a(6))), showsDeleted(a(7))},
			[]EventType{Deleted, Added, Deleted}, nil,
		},
		"DeletedThenReborn": {
			"a new object of the name is another",
			[]step{lists(5, a(4)), deletes(a(4)), writes(reborn, selected), showsDeleted(a(6)), shows(reborn)},
			[]EventType{Deleted, Added}, []*unstructured.Unstructured{reborn},
		},
		"DeletedLongAgo": {
			"the stream has shown it already",
			[]step{lists(5), deletes(a(4))},
			nil, nil,
		},
		"DeletedByUID": {
			"a deletion of which only the uid is known is as good",
			[]step{lists(5, a(4)), deletes(byUID), shows(a(5)), lists(6, a(5)), writes(reborn, selected), showsDeleted(a(7)), shows(reborn)},
			[]EventType{Deleted, Added}, []*unstructured.Unstructured{reborn},
		},
		"DeletedByUIDBeforeTheFirstList": {
			"also before there is a list",
			[]step{deletes(byUID), lists(5, a(4)), showsDeleted(a(6))},
			nil, nil,
		},
		"RefusedBetween": {
			"a refused stream keeps own writes for its next list",
			[]step{lists(5), resets, writes(a(9), selected), lists(7)},
			nil, []*unstructured.Unstructured{a(9)},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := &store{}
			s.indexBy("x")
			var told []EventType
			for _, do := range c.steps {
				for _, one := range do(s) {
					if one.kind != "" {
						told = append(told, one.kind)
					}
				}
			}
			if !slices.Equal(c.told, told) {
				t.Errorf("%s: told %v, want %v", c.reason, told, c.told)
			}
			expect(t, c.reason, c.want, s.listSubset(subset{}, ""))
			if len(s.ownWrites.deleted) > 0 {
				t.Errorf("still remembers deletions: %v", s.ownWrites.deleted)
			}
		})
	}
}

// TestOwnWritesAgainstHistory lets an informer follow a random history late, with
// relists, bookmarks and refusals, while own writes are observed at any time after
// they happened. A reader never sees an object as it was before an own write, and
// in the end sees exactly what there is.
func TestOwnWritesAgainstHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &historian{store: &store{}, server: newServer(), wrote: map[types.NamespacedName]int{}}
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
	server  *server
	store   *store
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
	if live, ok := h.server.objects[nameOf(object)]; ok {
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
	h.answers = append(h.answers, answer{nameOf(object), func() {
		h.store.observeWrite(object, selected)
		h.wrote[nameOf(object)] = max(rv, h.wrote[nameOf(object)])
	}})
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
	object, ok := h.server.objects[nameOf(thing(name(t), nil))]
	if !ok {
		return
	}
	h.server.remove(object.GetName())
	rv := h.server.rv
	if own {
		h.answers = append(h.answers, answer{nameOf(object), func() {
			h.store.observeDeletion(object)
			h.wrote[nameOf(object)] = max(rv, h.wrote[nameOf(object)])
		}})
	}
}

// next delivers one event.
func (h *historian) next() {
	for _, entry := range h.server.history {
		if !h.store.synced || entry.rv <= h.seen {
			continue
		}
		object := entry.event.Object.(*unstructured.Unstructured)
		if entry.event.Type == "DELETED" {
			h.store.removeObject(object)
		} else {
			h.store.setObject(object)
		}
		h.seen = entry.rv
		h.store.advanceTo(strconv.Itoa(entry.rv))
		return
	}
}

func (h *historian) bookmark() {
	if h.store.synced {
		h.store.advanceTo(strconv.Itoa(h.seen))
	}
}

// relist gives a list that may be stale, but not older than what was seen.
func (h *historian) relist(t *rapid.T) {
	rv := rapid.IntRange(max(h.seen, 100), h.server.rv).Draw(t, "rv")
	h.store.replaceAll(h.past(rv), strconv.Itoa(rv))
	h.seen = rv
}

// past is what the server had at a resourceVersion.
func (h *historian) past(rv int) []*unstructured.Unstructured {
	then := map[types.NamespacedName]*unstructured.Unstructured{}
	for _, entry := range h.server.history {
		object := entry.event.Object.(*unstructured.Unstructured)
		if entry.rv > rv {
			break
		}
		then[nameOf(object)] = object
		if entry.event.Type == "DELETED" {
			delete(then, nameOf(object))
		}
	}
	var list []*unstructured.Unstructured
	for _, object := range then {
		list = append(list, object)
	}
	return list
}

func (h *historian) refuse() { h.store.reset() }

// check: what was observed is never taken back.
func (h *historian) check(t *rapid.T) {
	if !h.store.synced {
		return
	}
	for _, object := range h.past(h.server.rv) {
		wrote, ok := h.wrote[nameOf(object)]
		found, there := h.store.objects[nameOf(object)]
		if !ok || !there {
			continue
		}
		if rv, _ := strconv.Atoi(found.object.GetResourceVersion()); rv < wrote {
			t.Fatalf("%s is shown at %d after an own write at %d", object.GetName(), rv, wrote)
		}
	}
	for name, found := range h.store.objects {
		rv, _ := strconv.Atoi(found.object.GetResourceVersion())
		if _, lives := h.server.objects[name]; !lives && rv < h.wrote[name] {
			t.Fatalf("%s is shown at %d after its own deletion at %d", name, rv, h.wrote[name])
		}
	}
}

func (h *historian) catchUp() {
	if !h.store.synced {
		h.store.replaceAll(h.past(100), "100")
		h.seen = 100
	}
	for _, answer := range h.answers {
		answer.take()
	}
	for range h.server.history {
		h.next()
	}
	h.store.advanceTo(strconv.Itoa(h.server.rv))
}

func (h *historian) compare(t *rapid.T) {
	for name, live := range h.server.objects {
		found, ok := h.store.objects[name]
		if !ok || found.object.GetResourceVersion() != live.GetResourceVersion() {
			t.Fatalf("in the end %s is not as it is on the server", name)
		}
	}
	w := h.store.ownWrites
	if len(h.store.objects) != len(h.server.objects) || len(w.unconfirmed)+len(w.held)+len(w.deleted) > 0 {
		t.Fatalf("in the end there is too much: %v, %+v", h.store.objects, w)
	}
}

func TestObserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		s := testSet(map[string]*server{"ns": api}, Options{})
		defer begin(t, s)()
		writer, other := &recorder{}, &recorder{}
		key := needOf("ns").Key
		view := s.Require(writer, []Interest{needOf("ns")})[0]
		s.Require(other, []Interest{needOf("ns")})
		writer.take()
		other.take()

		early := at(thing("a", "1"), 500)
		early.Object["status"] = "not kept"
		s.Observe(key, early, writer)
		expect(t, "the writer knows", events(), writer.take())
		expect(t, "others are told at once", events("Added a"), other.take())
		expect(t, "kept", at(thing("a", "1"), 500), view.Get("ns", "a"))

		api.mu.Lock()
		api.rv = 499
		api.mu.Unlock()
		api.put(thing("a", "1"))
		expect(t, "the echo", events(), append(writer.take(), other.take()...))

		s.Deleted(key, at(thing("a", "1"), 500), writer)
		expect(t, "others are told of the deletion", events("Deleted a"), other.take())
		api.remove("a")
		expect(t, "its echo", events(), append(writer.take(), other.take()...))

		s.Observe(needOf("nobody").Key, early)
		s.Deleted(needOf("nobody").Key, early)
	})
}
