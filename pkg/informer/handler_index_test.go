package informer

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestRoutesAgainstSets checks routes against a list of all needs.
func TestRoutesAgainstSets(t *testing.T) {
	type need struct {
		sub  *recorder
		what string
	}
	// What a need is about, and whether that is a, labelled x or y.
	parts := map[string]struct {
		part subset
		x, y bool
	}{
		"all":   {subset{}, true, true},
		"x":     {subset{label: "owner", value: "x"}, true, false},
		"y":     {subset{label: "owner", value: "y"}, false, true},
		"a, b":  {subset{names: namesOf([]string{"a", "b"})}, true, true},
		"ns/a":  {subset{names: namesOf([]string{"ns/a"})}, true, true},
		"ns2/a": {subset{names: namesOf([]string{"ns2/a"})}, false, false},
		"none":  {subset{names: namesOf([]string{})}, false, false},
	}
	rapid.Check(t, func(t *rapid.T) {
		var r handlerIndex
		needs := map[need]bool{}
		subs := make([]*recorder, 2*fewHandlers)
		for i := range subs {
			subs[i] = &recorder{}
		}
		draw := func(t *rapid.T) need {
			return need{rapid.SampledFrom(subs).Draw(t, "sub"), rapid.SampledFrom(slices.Sorted(maps.Keys(parts))).Draw(t, "part")}
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				if n := draw(t); !needs[n] {
					needs[n] = true
					r.add(n.sub, parts[n.what].part, "ns")
				}
			},
			"remove": func(t *rapid.T) {
				if n := draw(t); needs[n] {
					delete(needs, n)
					r.remove(n.sub, parts[n.what].part, "ns")
				}
			},
			"": func(t *rapid.T) {
				object, old := labelled(thing("a", "1"), "owner", "x"), labelled(thing("a", "1"), "owner", "y")
				want, either, all := map[EventHandler]bool{}, map[EventHandler]bool{}, map[EventHandler]bool{}
				for n := range needs {
					all[n.sub] = true
					if parts[n.what].x {
						want[n.sub] = true
					}
					if parts[n.what].x || parts[n.what].y {
						either[n.sub] = true
					}
				}
				if got := setOf(r.handlersOf(nil, object, nil)); !maps.Equal(want, got) {
					t.Fatalf("of x: %d subscribers, want %d", len(got), len(want))
				}
				if got := setOf(r.handlersOf(nil, object, old)); !maps.Equal(either, got) {
					t.Fatalf("from y to x: %d subscribers, want %d", len(got), len(either))
				}
				if got := setOf(r.allHandlers(nil)); !maps.Equal(all, got) || r.count != len(needs) {
					t.Fatalf("everybody: %d subscribers, want %d; count %d, want %d", len(got), len(all), r.count, len(needs))
				}
			},
		})
	})
}

func setOf(subs []EventHandler) map[EventHandler]bool {
	set := map[EventHandler]bool{}
	for _, sub := range subs {
		set[sub] = true
	}
	return set
}

// counter is an EventHandler that costs nothing.
type counter struct{ n int }

func (c *counter) Changed(Event) { c.n++ }

// BenchmarkRoute is one event from the reflectorStore through the store to the one owner
// that it is for, with so many owners in the informer.
func BenchmarkRoute(b *testing.B) {
	for _, owners := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("owners=%d", owners), func(b *testing.B) {
			st, k := benchStream(owners)
			versions := []projected{
				{labelled(thing("thing-5", "1"), "owner", "owner-5")},
				{labelled(thing("thing-5", "2"), "owner", "owner-5")},
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := k.Update(versions[i%2]); err != nil {
					b.Fatal(err)
				}
			}
			_ = st
		})
	}
}

// BenchmarkKeepUnchanged is an owner that declares again what it needs.
func BenchmarkKeepUnchanged(b *testing.B) {
	for _, owners := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("owners=%d", owners), func(b *testing.B) {
			st, _ := benchStream(owners)
			sub := &counter{}
			needs := []Interest{benchNeed("owner-5"), needOf("other")}
			st.set.Require(sub, needs)
			b.ReportAllocs()
			for b.Loop() {
				st.set.Require(sub, needs)
			}
		})
	}
}

// BenchmarkList is one owner reading its objects.
func BenchmarkList(b *testing.B) {
	for _, owners := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("owners=%d", owners), func(b *testing.B) {
			st, _ := benchStream(owners)
			view := st.set.Require(&counter{}, []Interest{benchNeed("owner-5")})[0]
			b.ReportAllocs()
			for b.Loop() {
				if len(view.List()) != 1 {
					b.Fatal("nothing there")
				}
			}
		})
	}
}

func benchNeed(owner string) Interest {
	need := needOf("ns")
	need.IndexLabel, need.IndexValue = "owner", owner
	return need
}

// BenchmarkRouteByName is an event for the one owner that named the object.
func BenchmarkRouteByName(b *testing.B) {
	for _, owners := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("owners=%d", owners), func(b *testing.B) {
			var r handlerIndex
			for i := range owners {
				r.add(&counter{}, subset{names: namesOf([]string{fmt.Sprint("thing-", i)})}, "ns")
			}
			object := thing("thing-5", "1")
			var to [1]EventHandler
			b.ReportAllocs()
			for b.Loop() {
				if len(r.handlersOf(to[:0], object, object)) != 1 {
					b.Fatal("not one subscriber")
				}
			}
		})
	}
}

// benchStream is a synced informer in which each owner has a handler and an
// object. It has no goroutine.
func benchStream(owners int) (*sharedInformer, reflectorStore) {
	s := testSet(nil, Options{})
	objects := make([]any, owners)
	for i := range owners {
		s.Require(&counter{}, []Interest{benchNeed(fmt.Sprint("owner-", i))})
		objects[i] = labelled(thing(fmt.Sprint("thing-", i), "1"), "owner", fmt.Sprint("owner-", i))
	}
	st := s.informers[needOf("ns").Key]
	k := reflectorStore{informer: st, epoch: st.beginEpoch(nil), listerWatcher: &listerWatcher{informer: st}}
	if err := k.Replace(objects, "1"); err != nil {
		panic(err)
	}
	return st, k
}
