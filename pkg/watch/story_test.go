package watch

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestRealEvents(t *testing.T) {
	w := newWorld(t, Options{}, "")
	namespace := w.namespace()
	w.grant(namespace)
	w.put(namespace, "first", "1")
	mark := w.cluster.Audit().Mark()
	full, meta := w.listener(), w.listener()
	metaNeed := configMapsIn(namespace)
	metaNeed.Key.Form = Form{Metadata: true, Manager: "story"}
	metaNeed.Fields, metaNeed.Kind = nil, "ConfigMap"
	view := w.streams.Keep(full, []Need{configMapsIn(namespace)})[0]
	metaView := w.streams.Keep(meta, []Need{metaNeed})[0]
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
	w := newWorld(t, Options{Retry: fixed(50 * time.Millisecond), WatchTimeout: time.Second}, "")
	allowed, denied := w.namespace(), w.namespace()
	w.grant(allowed)
	one, two := w.listener(), w.listener()
	w.streams.Keep(one, []Need{configMapsIn(allowed)})
	view := w.streams.Keep(two, []Need{configMapsIn(denied)})[0]
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

func TestRealMissingKind(t *testing.T) {
	w := newWorld(t, Options{Retry: fixed(50 * time.Millisecond)}, "")
	namespace := w.namespace()
	w.grant(namespace)
	group := "watch" + strings.ReplaceAll(namespace, "-", "") + ".example.com"
	need := needOf(namespace)
	need.Key.GVR = schema.GroupVersionResource{Group: group, Version: "v1", Resource: "things"}
	sub := w.listener()
	w.streams.Keep(sub, []Need{need})
	sub.becomes(Missing)

	crds := w.objects.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	_, err := crds.Create(t.Context(), thingsCRD(t, group), metav1.CreateOptions{})
	w.must(err)
	sub.next(Synced, "")
	made := thing("a", "1")
	made.SetAPIVersion(group + "/v1")
	_, err = w.objects.Resource(need.Key.GVR).Namespace(namespace).Create(t.Context(), made, metav1.CreateOptions{})
	if err == nil {
		t.Fatal("an object of another namespace was created")
	}
	made.SetNamespace(namespace)
	w.eventually("created", func() bool {
		_, err = w.objects.Resource(need.Key.GVR).Namespace(namespace).Create(t.Context(), made, metav1.CreateOptions{})
		return err == nil
	})
	sub.next(Added, "a")
	w.must(crds.Delete(t.Context(), "things."+group, metav1.DeleteOptions{}))
	sub.next(Deleted, "a") // the API server really deletes the objects first
	sub.becomes(Missing)
}

func thingsCRD(t *testing.T, group string) *unstructured.Unstructured {
	t.Helper()
	anything := true
	crd := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: "things." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "things", Singular: "thing", Kind: "Thing", ListKind: "ThingList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &anything,
				}},
			}},
		},
	}
	content, err := k8sruntime.DefaultUnstructuredConverter.ToUnstructured(crd)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: content}
}

func TestRealInvalid(t *testing.T) {
	w := newWorld(t, Options{}, "")
	namespace := w.namespace()
	w.grant(namespace)
	need := configMapsIn(namespace)
	need.Key.FieldSelector = "data.value=1"
	sub := w.listener()
	w.streams.Keep(sub, []Need{need})
	sub.becomes(Invalid)
}

// TestRealTimeouts: watches that end at their timeout are opened again where
// they were.
func TestRealTimeouts(t *testing.T) {
	w := newWorld(t, Options{WatchTimeout: time.Second}, "")
	namespace := w.namespace()
	w.grant(namespace)
	sub := w.listener()
	view := w.streams.Keep(sub, []Need{configMapsIn(namespace)})[0]
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
	w := newWorld(t, Options{}, "")
	namespace := w.namespace()
	w.grant(namespace)
	sub := w.listener()
	w.streams.Keep(sub, []Need{configMapsIn(namespace)})
	sub.next(Synced, "")
	w.eventually("one stream is open", func() bool { return w.open() == 1 })
	w.streams.Keep(sub, nil)
	w.eventually("none is", func() bool { return w.open() == 0 })
}

func TestRealFreeThenNeed(t *testing.T) {
	w := newWorld(t, Options{}, "")
	namespace := w.namespace()
	w.grant(namespace)
	w.put(namespace, "a", "1")
	sub := w.listener()
	for range 50 {
		w.streams.Keep(sub, []Need{configMapsIn(namespace)})
		w.streams.Keep(sub, nil)
		view := w.streams.Keep(sub, []Need{configMapsIn(namespace)})[0]
		sub.next(Synced, "")
		expect(t, "state", Live, view.State())
		if view.Get(namespace, "a") == nil {
			t.Fatal("the object is missing")
		}
		w.streams.Keep(sub, nil)
	}
	w.eventually("no stream is left", func() bool { return w.open() == 0 })
}

func TestRealNothingRemains(t *testing.T) {
	w := newWorld(t, Options{}, "")
	namespace := w.namespace()
	w.grant(namespace)
	sub := w.listener()
	round := func() {
		needs := make([]Need, 50)
		for i := range needs {
			needs[i] = configMapsIn(namespace)
			needs[i].Key.LabelSelector = fmt.Sprint("owner=", i)
		}
		w.streams.Keep(sub, needs)
		for range needs {
			sub.next(Synced, "")
		}
		w.streams.Keep(sub, nil)
		w.eventually("no stream is left", func() bool { return w.open() == 0 })
	}
	round() // makes the connection, which stays
	before := runtime.NumGoroutine()
	round()
	w.eventually("no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
}

func TestRealOwnWrites(t *testing.T) {
	w := newWorld(t, Options{}, "")
	namespace := w.namespace()
	w.grant(namespace)
	sub, other := w.listener(), w.listener()
	need := configMapsIn(namespace)
	view := w.streams.Keep(sub, []Need{need})[0]
	w.streams.Keep(other, []Need{need})
	sub.next(Synced, "")
	other.next(Synced, "")
	for i := range 100 {
		name := fmt.Sprint("map-", i)
		written := w.put(namespace, name, "1")
		w.streams.Observe(need.Key, written, sub)
		got := view.Get(namespace, name)
		if got == nil || got.GetResourceVersion() != written.GetResourceVersion() {
			t.Fatalf("%s: own write is not there", name)
		}
		other.next(Added, name)
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
	way := newLine(t, strings.TrimPrefix(plane(t).Admin().Host, "https://"))
	w := newWorld(t, Options{}, way.address)
	namespace := w.namespace()
	w.grant(namespace)
	w.put(namespace, "gone", "1")
	sub := w.listener()
	view := w.streams.Keep(sub, []Need{configMapsIn(namespace)})[0]
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
	way := newLine(t, strings.TrimPrefix(plane(t).Admin().Host, "https://"))
	config := plane(t).User("watcher")
	config.Host = "https://" + way.address
	s := New(Options{Clients: shared(t, config), Reconnect: fixed(time.Hour)})
	stop := begin(t, s)
	w := &world{T: t}
	sub := w.listener()
	way.cut()
	s.Keep(sub, []Need{configMapsIn("default")})
	sub.becomes(Degraded)
	before := time.Now()
	stop()
	if took := time.Since(before); took > time.Second {
		t.Errorf("stopping took %v", took)
	}
}
