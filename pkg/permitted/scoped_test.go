package permitted

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/access"
)

// TestScoped: permissions come and go everywhere and by namespace.
func TestScoped(t *testing.T) {
	b := newBench()
	s := b.NewScoped(secretsIn("ignored"), b.record)
	both := []string{"a", "b"}
	for _, step := range []struct {
		reason     string
		do         func()
		namespaces []string
		open       []string
		decided    bool
		reviews    int
	}{
		{reason: "nothing is known", namespaces: both, reviews: 1},
		{reason: "not everywhere, and of the namespaces nothing is known", do: func() { b.reviews.answer("", denied) }, namespaces: both, reviews: 3},
		{reason: "one is known", do: func() { b.reviews.answer("b", allowed) }, namespaces: both, open: []string{"b"}, reviews: 3},
		{reason: "the other one is denied", do: func() { b.reviews.answer("a", denied) }, namespaces: both, open: []string{"b"}, decided: true, reviews: 3},
		{reason: "both are allowed", do: func() { b.reviews.answer("a", allowed) }, namespaces: both, open: both, decided: true, reviews: 3},
		{reason: "more is asked of all namespaces: what is open stays", do: func() { b.reviews.states[access.Key{}] = access.State{} }, namespaces: both, open: both, reviews: 3},
		{reason: "one is not wanted any more", do: func() { b.reviews.answer("", denied) }, namespaces: both[:1], open: both[:1], decided: true, reviews: 2},
		{reason: "everywhere: no namespace is watched by itself", do: func() { b.reviews.answer("", allowed) }, namespaces: both, open: []string{""}, decided: true, reviews: 1},
		{reason: "permission is gone: all is asked anew", do: func() { b.reviews.answer("", denied) }, namespaces: both, open: both, decided: true, reviews: 3},
		{reason: "nowhere", do: func() { b.reviews.answer("a", denied); b.reviews.answer("b", denied) }, namespaces: both, decided: true, reviews: 3},
		{reason: "it may not even be asked", do: func() { b.reviews.states[access.Key{}] = access.State{Refusal: errRefused} }, namespaces: both, decided: true, reviews: 3},
	} {
		if step.do != nil {
			step.do()
		}
		watches, decided := s.RequireNamespaces(step.namespaces)
		var open []string
		for _, w := range watches {
			open = append(open, w.Namespace())
		}
		if diff := cmp.Diff(step.open, open); diff != "" || decided != step.decided {
			t.Errorf("%s: decided %t (-want +got):\n%s", step.reason, decided, diff)
		}
		if diff := cmp.Diff(step.open, b.set.namespaces()); diff != "" || len(b.reviews.required) != step.reviews {
			t.Errorf("%s: %d reviews, informers (-want +got):\n%s", step.reason, len(b.reviews.required), diff)
		}
	}
	if got := s.PermissionEverywhere().Decision; got != Refused {
		t.Errorf("everywhere it is %q", got)
	}
	if s.ReleaseAll(); len(b.reviews.required)+len(b.set.open) > 0 {
		t.Errorf("after Release: reviews %v, informers %v", b.reviews.required, b.set.open)
	}
}

// TestObserve: a write is seen by whoever shows the object.
func TestObserve(t *testing.T) {
	b := newBench()
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetNamespace("a")
	b.NewScoped(secretsIn(""), b.record).ObserveWrite(object)
	if len(b.set.observed) != 2 || b.set.observed[0].Namespace != "" || b.set.observed[1].Namespace != "a" {
		t.Errorf("it was observed in %v", b.set.observed)
	}
}
