package watch

import (
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"
)

// TestRoutesAgainstSets checks routes against a list of all needs.
func TestRoutesAgainstSets(t *testing.T) {
	type need struct {
		sub   *recorder
		value string // "" is everything
	}
	rapid.Check(t, func(t *rapid.T) {
		var r routes
		needs := map[need]bool{}
		subs := make([]*recorder, 2*fewSubscribers)
		for i := range subs {
			subs[i] = &recorder{}
		}
		draw := func(t *rapid.T) need {
			return need{rapid.SampledFrom(subs).Draw(t, "sub"), rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "value")}
		}
		labelOf := func(n need) string {
			if n.value == "" {
				return ""
			}
			return "owner"
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				if n := draw(t); !needs[n] {
					needs[n] = true
					r.add(n.sub, labelOf(n), n.value)
				}
			},
			"remove": func(t *rapid.T) {
				if n := draw(t); needs[n] {
					delete(needs, n)
					r.remove(n.sub, labelOf(n), n.value)
				}
			},
			"": func(t *rapid.T) {
				object, old := labelled(thing("a", "1"), "owner", "x"), labelled(thing("a", "1"), "owner", "y")
				want, all := map[Subscriber]bool{}, map[Subscriber]bool{}
				for n := range needs {
					all[n.sub] = true
					if n.value != "y" {
						want[n.sub] = true
					}
				}
				if got := setOf(r.find(nil, object, nil)); !maps.Equal(want, got) {
					t.Fatalf("of x: %d subscribers, want %d", len(got), len(want))
				}
				if got := setOf(r.find(nil, object, old)); !maps.Equal(all, got) {
					t.Fatalf("from y to x: %d subscribers, want %d", len(got), len(all))
				}
				if got := setOf(r.everybody(nil)); !maps.Equal(all, got) || r.count != len(needs) {
					t.Fatalf("everybody: %d subscribers, want %d; count %d, want %d", len(got), len(all), r.count, len(needs))
				}
			},
		})
	})
}

func setOf(subs []Subscriber) map[Subscriber]bool {
	set := map[Subscriber]bool{}
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
			needs := []Need{benchNeed("owner-5"), needOf("other")}
			st.owner.Keep(sub, needs)
			b.ReportAllocs()
			for b.Loop() {
				st.owner.Keep(sub, needs)
			}
		})
	}
}

// BenchmarkList is one owner reading its objects.
func BenchmarkList(b *testing.B) {
	for _, owners := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("owners=%d", owners), func(b *testing.B) {
			st, _ := benchStream(owners)
			view := st.owner.Keep(&counter{}, []Need{benchNeed("owner-5")})[0]
			b.ReportAllocs()
			for b.Loop() {
				if len(view.List()) != 1 {
					b.Fatal("nothing there")
				}
			}
		})
	}
}

func benchNeed(owner string) Need {
	need := needOf("ns")
	need.IndexLabel, need.IndexValue = "owner", owner
	return need
}

// benchStream is a synced stream in which each owner has a subscriber and an
// object. It has no goroutine.
func benchStream(owners int) (*stream, sink) {
	s := testStreams(nil, Options{})
	objects := make([]any, owners)
	for i := range owners {
		s.Keep(&counter{}, []Need{benchNeed(fmt.Sprint("owner-", i))})
		objects[i] = labelled(thing(fmt.Sprint("thing-", i), "1"), "owner", fmt.Sprint("owner-", i))
	}
	st := s.streams[needOf("ns").Key]
	k := sink{stream: st, epoch: st.begin()}
	if err := k.Replace(objects, "1"); err != nil {
		panic(err)
	}
	return st, k
}
