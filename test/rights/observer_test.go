package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// TestObserver tells the story of a cycle, event by event.
func TestObserver(t *testing.T) {
	t.Parallel()
	o := newObserver()
	deployment := object("Deployment", "one", nil)
	steps := []struct {
		reason string
		event  watch.Event
		want   map[string]place
	}{
		{"A new owner has no status.", watch.Event{Type: watch.Added, Object: owner("", "")}, map[string]place{"one": {owner: true}}},
		{"The policy's state and Ambit's condition have to agree.", watch.Event{Type: watch.Modified, Object: owner("Failed", "True")},
			map[string]place{"one": {owner: true}}},
		{"Denied.", watch.Event{Type: watch.Modified, Object: owner("Failed", "False")}, map[string]place{"one": {owner: true, verdict: denied}}},
		{"The child may be seen before the status.", watch.Event{Type: watch.Added, Object: deployment},
			map[string]place{"one": {owner: true, deployed: true, verdict: denied}}},
		{"A state of before with a condition of now is neither.", watch.Event{Type: watch.Modified, Object: owner("Progressing", "False")},
			map[string]place{"one": {owner: true, deployed: true}}},
		{"Permitted.", watch.Event{Type: watch.Modified, Object: owner("Progressing", "True")},
			map[string]place{"one": {owner: true, deployed: true, verdict: permitted}}},
		{"A deleted owner says nothing.", watch.Event{Type: watch.Deleted, Object: owner("Progressing", "True")}, map[string]place{"one": {deployed: true}}},
		{"Where nothing is left nothing is remembered.", watch.Event{Type: watch.Deleted, Object: deployment}, map[string]place{}},
	}
	for _, step := range steps {
		o.see(step.event)
		if diff := cmp.Diff(step.want, o.places, cmp.AllowUnexported(place{})); diff != "" {
			t.Errorf("%s -want +got:\n%s", step.reason, diff)
		}
	}
}

func TestUntil(t *testing.T) {
	t.Parallel()
	o := newObserver()
	began := time.Now()
	go o.see(watch.Event{Type: watch.Added, Object: owner("", "")})
	at, err := o.until(t.Context(), "one", "there is an owner", func(p place) bool { return p.owner })
	if err != nil || at.Before(began) {
		t.Errorf("until = %v, %v; want a time after %v", at, err, began)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	tooLate := errors.New("too late")
	cancel(tooLate)
	if _, err := o.until(ctx, "one", "it is gone", func(p place) bool { return !p.owner }); !errors.Is(err, tooLate) {
		t.Errorf("until = %v, want %v", err, tooLate)
	}
}

// owner is one whose status has this state and this status of Permitted; "" is
// none.
func owner(state, permitted string) *unstructured.Unstructured {
	status := map[string]any{}
	if state != "" {
		status["state"] = map[string]any{"status": state}
	}
	if permitted != "" {
		status["conditions"] = []any{
			map[string]any{"type": "Available", "status": "False"},
			map[string]any{"type": "Permitted", "status": permitted},
		}
	}
	return object("Memcached", "one", status)
}

func object(kind, namespace string, status map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"kind": kind, "metadata": map[string]any{"name": ownerName, "namespace": namespace}, "status": status,
	}}
}
