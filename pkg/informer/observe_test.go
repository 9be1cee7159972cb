package informer

import (
	"strconv"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
