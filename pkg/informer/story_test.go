package informer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/test/timed"
)

func TestRealEvents(t *testing.T) {
	w := newEnv(t, Options{}, "")
	namespace := w.namespace()
	w.grant(namespace)
	w.put(namespace, "first", "1")
	mark := w.cluster.Audit().Mark()
	full, meta := w.listener(), w.listener()
	metaNeed := configMapsIn(namespace)
	metaNeed.Key.Form = Form{Metadata: true, Manager: "story"}
	metaNeed.Fields, metaNeed.Kind = nil, "ConfigMap"
	view := w.streams.Require(full, []Interest{configMapsIn(namespace)})[0]
	metaView := w.streams.Require(meta, []Interest{metaNeed})[0]
	full.next(Synced, "")
	meta.next(Synced, "")
	expect(t, "state", Live, view.State())
	expect(t, "no list", 0, len(w.requests(mark, "list", false)))

	w.put(namespace, "a", "1")
	full.next(Added, "a")
	added := meta.next(Added, "a").Object
	expect(t, "kind", "ConfigMap", added.GetKind())
	expect(t, "our managedFields", "story", added.GetManagedFields()[0].Manager)
	if _, ok := added.Object["data"]; ok {
		t.Error("a metadata-only stream has data")
	}

	w.put(namespace, "a", "2")
	updated := full.next(Updated, "a")
	expect(t, "new", map[string]any{"value": "2"}, updated.Object.Object["data"].(map[string]any))
	expect(t, "old", map[string]any{"value": "1"}, updated.Old.Object["data"].(map[string]any))

	patch := []byte(`{"metadata":{"annotations":{"nobody":"reads this"}}}`)
	_, err := w.objects.Resource(configMaps).Namespace(namespace).Patch(t.Context(), "a", "application/merge-patch+json", patch, metav1.PatchOptions{})
	w.must(err)
	w.delete(namespace, "a")
	full.next(Deleted, "a")
	meta.next(Deleted, "a")
	w.eventually("only the first is left", func() bool { return view.Get(namespace, "a") == nil && len(metaView.List()) == len(view.List()) })
}

func TestRealDenialIsolates(t *testing.T) {
	w := newEnv(t, Options{Retry: fixed(50 * time.Millisecond), Reauthorize: true}, "")
	allowed, denied := w.namespace(), w.namespace()
	w.grant(allowed)
	one, two := w.listener(), w.listener()
	w.streams.Require(one, []Interest{configMapsIn(allowed)})
	view := w.streams.Require(two, []Interest{configMapsIn(denied)})[0]
	one.next(Synced, "")
	two.becomes(Forbidden)
	if message := view.Status().Message; !strings.Contains(message, denied) {
		t.Errorf("the message does not say where: %s", message)
	}
	w.put(denied, "secret", "1")
	w.put(allowed, "a", "1")
	one.next(Added, "a")

	w.grant(denied)
	two.next(Synced, "")
	w.eventually("the object is there", func() bool { return view.Get(denied, "secret") != nil })
	w.revoke(denied) // noticed when the watch is opened again
	two.becomes(Forbidden)
	expect(t, "objects", 0, len(view.List()))
	w.put(allowed, "b", "1")
	one.next(Added, "b")
}

func TestRealInvalid(t *testing.T) {
	w := newEnv(t, Options{}, "")
	namespace := w.namespace()
	w.grant(namespace)
	need := configMapsIn(namespace)
	need.Key.FieldSelector = "data.value=1"
	sub := w.listener()
	w.streams.Require(sub, []Interest{need})
	sub.becomes(Invalid)
}

// TestRealTimeouts: watches that end at their timeout are opened again where
// they were.
func TestRealTimeouts(t *testing.T) {
	w := newEnv(t, Options{Reauthorize: true}, "")
	namespace := w.namespace()
	w.grant(namespace)
	sub := w.listener()
	view := w.streams.Require(sub, []Interest{configMapsIn(namespace)})[0]
	sub.next(Synced, "")
	mark := w.cluster.Audit().Mark()
	for i := 0; len(w.requests(mark, "watch", true)) < 3; i++ {
		name := fmt.Sprint("map-", i)
		w.put(namespace, name, "1")
		sub.next(Added, name)
		expect(t, "state", Live, view.State())
	}
	expect(t, "lists", 0, len(w.requests(mark, "list", false)))
	for _, r := range w.requests(mark, "watch", true) {
		if strings.Contains(r.URI, "sendInitialEvents") {
			t.Errorf("the whole list was asked for again: %s", r.URI)
		}
	}
}

func TestRealFreedStreamCloses(t *testing.T) {
	w := newEnv(t, Options{}, "")
	namespace := w.namespace()
	w.grant(namespace)
	sub := w.listener()
	w.streams.Require(sub, []Interest{configMapsIn(namespace)})
	sub.next(Synced, "")
	w.eventually("one stream is open", func() bool { return w.open() == 1 })
	w.streams.Require(sub, nil)
	w.eventually("none is", func() bool { return w.open() == 0 })
}

func TestRealOwnWrites(t *testing.T) {
	w := newEnv(t, Options{}, "")
	namespace := w.namespace()
	w.grant(namespace)
	sub, other := w.listener(), w.listener()
	need := configMapsIn(namespace)
	view := w.streams.Require(sub, []Interest{need})[0]
	w.streams.Require(other, []Interest{need})
	sub.next(Synced, "")
	next := other.nextAfterSynced
	for i := range 100 {
		name := fmt.Sprint("map-", i)
		written := w.put(namespace, name, "1")
		w.streams.Observe(need.Key, written, sub)
		got := view.Get(namespace, name)
		if got == nil || got.GetResourceVersion() != written.GetResourceVersion() {
			t.Fatalf("%s: own write is not there", name)
		}
		next(Added, name)
		next = other.next
	}
	w.put(namespace, "end", "1")
	other.next(Added, "end")
	for len(sub.events) > 0 { // the writer may see events that were faster than the answers, but no echo twice
		if e := <-sub.events; e.Type != Added {
			t.Errorf("told %s %s", e.Type, e.Object.GetName())
		}
	}
}

// TestRealOutage: the API server cannot be reached for a while.
func TestRealOutage(t *testing.T) {
	way := newLine(t, strings.TrimPrefix(control.Cluster(t).Admin().Host, "https://"))
	w := newEnv(t, Options{}, way.address)
	namespace := w.namespace()
	w.grant(namespace)
	w.put(namespace, "gone", "1")
	sub := w.listener()
	view := w.streams.Require(sub, []Interest{configMapsIn(namespace)})[0]
	sub.next(Synced, "")
	w.put(namespace, "last", "1") // the Reflector lists again after a watch that was short and silent
	sub.next(Added, "last")
	mark := w.cluster.Audit().Mark()

	way.cut()
	sub.becomes(Degraded)
	expect(t, "objects stay", true, view.Get(namespace, "gone") != nil)
	w.delete(namespace, "gone")
	w.put(namespace, "new", "1")
	way.mend(t)
	sub.becomes(Live)
	sub.next(Deleted, "gone")
	sub.next(Added, "new")
	expect(t, "lists", 0, len(w.requests(mark, "list", false)))
	for _, r := range w.requests(mark, "watch", true) {
		if strings.Contains(r.URI, "sendInitialEvents") {
			t.Errorf("the whole list was asked for again: %s", r.URI)
		}
	}
}

// TestRealStopInOutage: the end does not wait for the API server.
func TestRealStopInOutage(t *testing.T) {
	way := newLine(t, strings.TrimPrefix(control.Cluster(t).Admin().Host, "https://"))
	config := control.Cluster(t).User("watcher")
	config.Host = "https://" + way.address
	s := NewSet(Options{Clients: shared(t, config), Reconnect: fixed(time.Hour)})
	stop := begin(t, s)
	w := &env{T: t}
	sub := w.listener()
	way.cut()
	s.Require(sub, []Interest{configMapsIn("default")})
	sub.becomes(Degraded)
	before := time.Now()
	stop()
	timed.Check(t, "the end in an outage", time.Since(before), time.Second)
}
