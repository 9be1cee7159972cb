package informer

import (
	"fmt"
	"testing"

	"github.com/ambit-dev/ambit/pkg/informer/projection"
)

// counter is an EventHandler that costs nothing.
type counter struct{ n int }

func (c *counter) Changed(Event) { c.n++ }

// BenchmarkRoute is one event from the reflectorStore through the store to the one owner
// that it is for, with so many owners in the informer.
func BenchmarkRoute(b *testing.B) {
	for _, owners := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("owners=%d", owners), func(b *testing.B) {
			_, k := benchStream(owners)
			versions := []projection.Transformed{
				{Unstructured: labelled(thing("thing-5", "1"), "owner", "owner-5")},
				{Unstructured: labelled(thing("thing-5", "2"), "owner", "owner-5")},
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := k.Update(versions[i%2]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkKeepUnchanged is an owner that declares again what it needs.
func BenchmarkKeepUnchanged(b *testing.B) {
	for _, owners := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("owners=%d", owners), func(b *testing.B) {
			s, _ := benchStream(owners)
			sub := &counter{}
			needs := []Interest{benchNeed("owner-5"), needOf("other")}
			s.Require(sub, needs)
			b.ReportAllocs()
			for b.Loop() {
				s.Require(sub, needs)
			}
		})
	}
}

// BenchmarkList is one owner reading its objects.
func BenchmarkList(b *testing.B) {
	for _, owners := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("owners=%d", owners), func(b *testing.B) {
			s, _ := benchStream(owners)
			view := s.Require(&counter{}, []Interest{benchNeed("owner-5")})[0]
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

// benchStream is a synced informer in which each owner has a handler and an
// object. It has no goroutine.
func benchStream(owners int) (*Set, reflectorStore) {
	s := testSet(nil, Options{})
	objects := make([]any, owners)
	for i := range owners {
		s.Require(&counter{}, []Interest{benchNeed(fmt.Sprint("owner-", i))})
		objects[i] = labelled(thing(fmt.Sprint("thing-", i), "1"), "owner", fmt.Sprint("owner-", i))
	}
	st := s.informerOf(needOf("ns").Key)
	k := reflectorStore{st.stream.beginEpoch(nil).feeds[0]}
	if err := k.Replace(objects, "1"); err != nil {
		panic(err)
	}
	return s, k
}
