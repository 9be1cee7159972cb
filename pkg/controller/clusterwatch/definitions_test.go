package clusterwatch

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/informer"
)

const thingsDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing, listKind: ThingList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// The times after a change at which to look at what is missing: each of retryDelays comes after the one before.
var looks = []time.Duration{0, 100 * time.Millisecond, 500 * time.Millisecond, 2 * time.Second}

// TestDefinitionsWatched: while a kind is missing, definitions are watched, and each change of one leads to
// some looks at what is missing, the last of them after the API server has had time to serve it. When
// nothing is missing any more, definitions are not watched.
func TestDefinitionsWatched(t *testing.T) {
	testWatcher(t, func(b *bench) {
		b.grantDefinitions()
		w := NewDefinitionWatcher(b.options)
		b.spawn(w.Run)
		w.CheckSoon(false)
		b.take(time.Minute)
		if open := b.watched(); open != nil {
			t.Errorf("nothing is missing, and %v are watched", open)
		}

		b.setUnserved(true)
		w.CheckSoon(true)
		b.take(time.Minute)
		if diff := cmp.Diff([]string{"customresourcedefinitions"}, b.watched()); diff != "" {
			t.Errorf("a kind is missing (-want +got):\n%s", diff)
		}
		if got := b.takeRefreshed(time.Now()); len(got) != len(looks) {
			t.Errorf("%d looks after the first list, want %d: what was made before it was not seen", len(got), len(looks))
		}

		changed := time.Now()
		b.create(definitions, "", thingsDefinition)
		b.take(time.Minute)
		got := b.takeRefreshed(changed)
		// A definition is changed again at once, when its status is written: the looks begin anew.
		if diff := cmp.Diff(looks, got[max(0, len(got)-len(looks)):]); diff != "" {
			t.Errorf("looks after a change (-want +got):\n%s", diff)
		}

		b.setUnserved(false)
		w.CheckSoon(false)
		b.take(time.Second)
		if open := b.watched(); open != nil {
			t.Errorf("nothing is missing any more, and %v are watched", open)
		}
		b.takeRefreshed(changed)
		b.delete(definitions, "", "things.example.com")
		b.take(time.Minute)
		if got := b.takeRefreshed(changed); got != nil {
			t.Errorf("nothing is missing, and there are looks at %v", got)
		}
	})
}

// ignorer needs streams, and does nothing when they change.
type ignorer struct{ _ int }

// Changed implements informer.EventHandler.
func (*ignorer) Changed(informer.Event) {}

// TestMissingStreamRetried: a stream whose resource is not served is retried when a definition has changed, and
// is live soon after its own was made: it does not wait for its backoff.
func TestMissingStreamRetried(t *testing.T) {
	testWatcher(t, func(b *bench) {
		b.create(resource("", "v1", "namespaces"), "", "{apiVersion: v1, kind: Namespace, metadata: {name: one}}")
		b.grantDefinitions()
		b.grant("things", "example.com", "things")
		set := b.options.Informers.(recordedInformers).Set
		w := NewDefinitionWatcher(b.options)
		b.spawn(w.Run)
		key := informer.Key{GVR: things, Namespace: "one"}
		set.Require(&ignorer{}, []informer.Interest{{Key: key}})
		b.take(time.Minute)
		if diff := cmp.Diff([]schema.GroupVersionResource{things}, MissingResources(set)); diff != "" {
			t.Fatalf("what is not served (-want +got):\n%s", diff)
		}
		w.CheckSoon(true)
		b.take(time.Minute)
		b.create(definitions, "", thingsDefinition)
		if calls := b.take(3 * time.Second); len(calls) == 0 || calls[0] != "retry "+key.String() {
			t.Errorf("after a change: %v, want it to be retried", calls)
		}
		if missing := MissingResources(set); missing != nil {
			t.Errorf("%v are missing 3 seconds after they were defined", missing)
		}
		w.CheckSoon(false)
		b.take(time.Second)
		if diff := cmp.Diff([]string{"things"}, b.watched()); diff != "" {
			t.Errorf("when nothing is missing any more (-want +got):\n%s", diff)
		}
	})
}

// TestDefinitionsDenied: where definitions may not be watched, that is asked for once as long as the same is
// missing, and again when something new is missing later.
func TestDefinitionsDenied(t *testing.T) {
	testWatcher(t, func(b *bench) {
		w := NewDefinitionWatcher(b.options)
		b.spawn(w.Run)
		b.setUnserved(true)
		w.CheckSoon(true)
		b.take(time.Minute)
		before := b.reviews.Load()
		if open := b.watched(); open != nil || before == 0 {
			t.Errorf("%v are watched, after %d reviews", open, before)
		}
		b.grantDefinitions()
		for range 10 {
			w.CheckSoon(true)
			b.take(time.Minute)
		}
		if now := b.reviews.Load(); now != before || b.watched() != nil {
			t.Errorf("%d more reviews for the same, and %v are watched", now-before, b.watched())
		}
		b.setUnserved(false)
		w.CheckSoon(false)
		b.take(time.Second)
		b.setUnserved(true)
		w.CheckSoon(true)
		b.take(time.Minute)
		if diff := cmp.Diff([]string{"customresourcedefinitions"}, b.watched()); diff != "" {
			t.Errorf("something is missing anew (-want +got):\n%s", diff)
		}
	})
}
