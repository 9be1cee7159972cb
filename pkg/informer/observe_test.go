package informer

import (
	"strconv"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/informer/projection"
)

func at(object *unstructured.Unstructured, rv int) *unstructured.Unstructured {
	object = object.DeepCopy()
	object.SetResourceVersion(strconv.Itoa(rv))
	return object
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

// TestHold: what a handler writes itself is no news to it, also if the event comes before the answer.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		s := testSet(map[string]*server{"ns": api}, Options{})
		defer begin(t, s)()
		writer, other := &recorder{}, &recorder{}
		key, name := needOf("ns").Key, types.NamespacedName{Namespace: "ns", Name: "a"}
		view := s.Require(writer, []Interest{needOf("ns")})[0]
		s.Require(other, []Interest{needOf("ns")})
		writer.take()
		other.take()
		version := func() string { return view.Get("ns", "a").GetResourceVersion() }

		release := s.HoldEvents(key, name, writer)
		api.put(thing("a", "1"))
		expect(t, "others are told at once", events("Added a"), other.take())
		s.Observe(key, view.Get("ns", "a"), writer)
		release(version())
		expect(t, "the writer knows", events(), writer.take())

		release = s.HoldEvents(key, name, writer)
		api.put(thing("b", "1"))
		expect(t, "of other objects it is told at once", events("Added b"), writer.take())
		api.put(thing("a", "2"))
		expect(t, "others are told", events("Added b", "Updated a"), other.take())
		answered := version()
		api.put(thing("a", "3"))
		api.remove("a")
		expect(t, "not while it writes", events(), writer.take())
		release(answered)
		expect(t, "what others did after it, in order", events("Updated a", "Deleted a"), writer.take())

		release = s.HoldEvents(key, name, writer)
		api.put(thing("a", "4"))
		release("")
		expect(t, "all that happened while a write failed", events("Added a"), writer.take())
		api.put(thing("a", "5"))
		expect(t, "everything again", events("Updated a"), writer.take())

		s.HoldEvents(needOf("nobody").Key, name, writer)("1")
	})
}

// TestDecodeOnce: the answer of a write and its event are one object, whichever comes first; no other
// version is taken for it.
func TestDecodeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		s := testSet(map[string]*server{"ns": api}, Options{})
		defer begin(t, s)()
		need := needOf("ns")
		writer := &recorder{}
		view := s.Require(writer, []Interest{need})[0]
		synctest.Wait()
		informer := s.informerOf(need.Key)
		event := func(object *unstructured.Unstructured) *unstructured.Unstructured {
			decoded, err := informer.decodeEvent(jsonOf(t, object))
			if err != nil {
				t.Fatal(err)
			}
			return decoded.(projection.Transformed).Unstructured
		}
		answer := func(object *unstructured.Unstructured) *unstructured.Unstructured {
			decoded, err := s.DecoderFor(need.Key)(jsonOf(t, object))
			if err != nil {
				t.Fatal(err)
			}
			return decoded
		}

		written := at(thing("a", "1"), 500)
		written.Object["status"] = "not kept"
		kept := answer(written)
		expect(t, "kept of an answer", at(thing("a", "1"), 500), kept)
		s.ObserveDecoded(need.Key, kept, writer)
		expect(t, "the store has it", true, view.Get("ns", "a") == kept)
		expect(t, "its event has it", true, event(written) == kept)
		later := event(at(thing("a", "2"), 501))
		expect(t, "a later event", at(thing("a", "2"), 501), later)

		api.mu.Lock()
		api.rv = 501
		api.mu.Unlock()
		api.put(thing("b", "1"))
		synctest.Wait()
		shown := view.Get("ns", "b")
		expect(t, "an answer after its event", true, answer(at(thing("b", "1"), 502)) == shown)
		expect(t, "an event of somebody else's write", false, event(at(thing("b", "1"), 502)) == shown)
		expect(t, "nobody needs it", true, s.DecoderFor(needOf("nobody").Key) == nil)
		s.ObserveDecoded(needOf("nobody").Key, kept)
	})
}

func jsonOf(t *testing.T, object *unstructured.Unstructured) []byte {
	data, err := object.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return data
}
