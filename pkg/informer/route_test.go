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
		part part
		x, y bool
	}{
		"all":   {part{}, true, true},
		"x":     {part{label: "owner", value: "x"}, true, false},
		"y":     {part{label: "owner", value: "y"}, false, true},
		"a, b":  {part{names: namesOf([]string{"a", "b"})}, true, true},
		"ns/a":  {part{names: namesOf([]string{"ns/a"})}, true, true},
		"ns2/a": {part{names: namesOf([]string{"ns2/a"})}, false, false},
		"none":  {part{names: namesOf([]string{})}, false, false},
	}
	rapid.Check(t, func(t *rapid.T) {
		var r routes
		needs := map[need]bool{}
		subs := make([]*recorder, 2*fewSubscribers)
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
				if got := setOf(r.find(nil, object, nil)); !maps.Equal(want, got) {
					t.Fatalf("of x: %d subscribers, want %d", len(got), len(want))
				}
				if got := setOf(r.find(nil, object, old)); !maps.Equal(either, got) {
					t.Fatalf("from y to x: %d subscribers, want %d", len(got), len(either))
				}
				if got := setOf(r.everybody(nil)); !maps.Equal(all, got) || r.count != len(needs) {
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

// counter is a Subscriber that costs nothing.
type counter struct{ n int }

func (c *counter) Changed(Event) { c.n++ }

// BenchmarkRoute is one event from the sink through the store to the one owner
// that it is for, with so many owners in the stream.
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
			st.owner.Require(sub, needs)
			b.ReportAllocs()
			for b.Loop() {
				st.owner.Require(sub, needs)
			}
		})
	}
}

// BenchmarkList is one owner reading its objects.
func BenchmarkList(b *testing.B) {
	for _, owners := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("owners=%d", owners), func(b *testing.B) {
			st, _ := benchStream(owners)
			view := st.owner.Require(&counter{}, []Interest{benchNeed("owner-5")})[0]
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
			var r routes
			for i := range owners {
				r.add(&counter{}, part{names: namesOf([]string{fmt.Sprint("thing-", i)})}, "ns")
			}
			object := thing("thing-5", "1")
			var to [1]EventHandler
			b.ReportAllocs()
			for b.Loop() {
				if len(r.find(to[:0], object, object)) != 1 {
					b.Fatal("not one subscriber")
				}
			}
		})
	}
}

// benchStream is a synced stream in which each owner has a subscriber and an
// object. It has no goroutine.
func benchStream(owners int) (*stream, sink) {
	s := testStreams(nil, Options{})
	objects := make([]any, owners)
	for i := range owners {
		s.Require(&counter{}, []Interest{benchNeed(fmt.Sprint("owner-", i))})
		objects[i] = labelled(thing(fmt.Sprint("thing-", i), "1"), "owner", fmt.Sprint("owner-", i))
	}
	st := s.streams[needOf("ns").Key]
	k := sink{stream: st, epoch: st.begin(nil), opener: &opener{stream: st}}
	if err := k.Replace(objects, "1"); err != nil {
		panic(err)
	}
	return st, k
}
