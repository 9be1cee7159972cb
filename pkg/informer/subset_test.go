package informer

import (
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestNeedsByName: handlers share an informer, each is told of what it named and
// of the informer itself, and the names may change while it is open.
func TestNeedsByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		api.put(thing("a", "1"))
		api.put(thing("b", "1"))
		api.block = make(chan struct{}) // an informer that is synced says so to nobody who comes later
		s := testSet(map[string]*server{"": api}, Options{})
		defer begin(t, s)()
		named := func(names ...string) []Interest {
			need := needOf("")
			need.Names = names
			return []Interest{need}
		}
		one, two, none := &recorder{}, &recorder{}, &recorder{}
		view := s.Require(one, named("ns/b", "ns/a"))[0]
		s.Require(two, named("ns/b", "ns/c", "other/a", "a"))
		s.Require(none, []Interest{{Key: needOf("").Key, Fields: keptFields(), Names: []string{}}})
		close(api.block)
		for _, sub := range []*recorder{one, two, none} {
			expect(t, "the first list, once", events("Synced"), sub.take())
		}
		expect(t, "streams", 1, len(s.States()))
		expect(t, "objects of one", 2, len(view.List()))

		api.put(thing("a", "2"))
		expect(t, "one named a", events("Updated a"), one.take())
		expect(t, "two did not, only one in another namespace", events(), two.take())
		api.put(thing("c", "1"))
		expect(t, "one did not name c", events(), one.take())
		expect(t, "two did", events("Added c"), two.take())
		expect(t, "and does not see it", true, view.Get("ns", "c") == nil)
		expect(t, "but a", true, view.Get("ns", "a") != nil)

		expect(t, "the same names are the same view", true, view == s.Require(one, named("ns/a", "ns/b"))[0])
		view = s.Require(one, named("ns/b", "ns/c"))[0]
		expect(t, "objects after a change of names", 2, len(view.List()))
		api.put(thing("a", "3"))
		expect(t, "one no longer names a", events(), one.take())
		api.put(thing("b", "2"))
		expect(t, "but still b, once", events("Updated b"), one.take())
		expect(t, "two as well", events("Updated b"), two.take())
		api.remove("b")
		expect(t, "deleted", events("Deleted b"), two.take())
		expect(t, "the one without names", events(), none.take())
		expect(t, "requests", 1, len(api.take()))

		for _, sub := range []*recorder{one, two, none} {
			s.Require(sub, nil)
		}
		expect(t, "streams after the last release", 0, len(s.States()))
	})
}

// TestOwnWritesByName: an informer of one name, of objects without a namespace,
// takes the own writes of that object and of no other.
func TestOwnWritesByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		s := testSet(map[string]*server{"": api}, Options{})
		defer begin(t, s)()
		need := needOf("")
		need.Key.FieldSelector, need.Names = "metadata.name=a", []string{"a"}
		writer, reader := &recorder{}, &recorder{}
		view := s.Require(writer, []Interest{need})[0]
		s.Require(reader, []Interest{need})
		writer.take()
		reader.take()

		a, b := clusterScoped("a", 1003), clusterScoped("b", 1004)
		s.Observe(need.Key, a, writer)
		s.Observe(need.Key, b, writer)
		expect(t, "the writer is not told", events(), writer.take())
		expect(t, "the other is", events("Added a"), reader.take())
		expect(t, "what is there", 1, len(view.List()))
		expect(t, "a, by its name", true, view.Get("", "a") != nil)
		s.Deleted(need.Key, a, writer)
		expect(t, "a deletion", events("Deleted a"), reader.take())
	})
}

func clusterScoped(name string, rv int) *unstructured.Unstructured {
	object := at(thing(name, "1"), rv)
	object.SetNamespace("")
	return object
}
