package informer

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/ambit-dev/ambit/pkg/informer/listwatch"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
	"github.com/ambit-dev/ambit/test/sim"
)

var rewrite = flag.Bool("rewrite", false, "write the times that were measured into testdata/twin.txt")

// twin watches some keys and remembers what it showed and said: client-go's dynamic
// informers, or a Set.
type twin struct {
	name  string
	shown func(Key) map[string]string // resourceVersions by name
	retry func(Key)                   // what somebody calls who learns of a grant

	mu   sync.Mutex                   // guards what is below
	last map[Key]map[string]lastEvent // by name
	told map[Key]map[string]bool      // reasons of errors, since the last step
}

// lastEvent is what was last said of an object. A deletion has no resourceVersion.
type lastEvent struct {
	kind    EventType
	version string
}

func newTwin(name string) *twin {
	return &twin{name: name, last: map[Key]map[string]lastEvent{}, told: map[Key]map[string]bool{}}
}

// note remembers an event of an object.
func (w *twin) note(key Key, kind EventType, object *unstructured.Unstructured) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noteLocked(key, kind, object)
}

func (w *twin) noteLocked(key Key, kind EventType, object *unstructured.Unstructured) {
	if w.last[key] == nil {
		w.last[key] = map[string]lastEvent{}
	}
	e := lastEvent{kind: kind, version: object.GetResourceVersion()}
	if kind == Deleted {
		e.version = ""
	}
	w.last[key][object.GetName()] = e
}

// noteAll is what a handler makes of Synced: it compares the list with what it knew.
func (w *twin) noteAll(key Key, objects []*unstructured.Unstructured) {
	w.mu.Lock()
	defer w.mu.Unlock()
	gone := maps.Clone(w.last[key])
	for _, object := range objects {
		before, known := gone[object.GetName()]
		delete(gone, object.GetName())
		switch {
		case !known || before.kind == Deleted:
			w.noteLocked(key, Added, object)
		case before.version != object.GetResourceVersion():
			w.noteLocked(key, Updated, object)
		}
	}
	for name := range gone {
		w.last[key][name] = lastEvent{kind: Deleted}
	}
}

// hear is the watch-error hook of both.
func (w *twin) hear(key Key, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.told[key] == nil {
		w.told[key] = map[string]bool{}
	}
	w.told[key][listwatch.ReasonOf(err)] = true
}

// heard reports whether the hook was told a reason in this step.
func (w *twin) heard(key Key, reason string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.told[key][reason]
}

// takeTold returns what the hook was told in a step.
func (w *twin) takeTold() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[string]bool{}
	for _, reasons := range w.told {
		maps.Copy(all, reasons)
	}
	clear(w.told)
	told := slices.Sorted(maps.Keys(all))
	if len(told) == 0 {
		return "nothing"
	}
	return strings.Join(told, " ")
}

// lastEvents is a copy.
func (w *twin) lastEvents(key Key) map[string]lastEvent {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.last[key])
}

// newAmbitTwin starts a Set; the function ends it and waits.
func newAmbitTwin(t *testing.T, clients func(string) (dynamic.Interface, metadata.Interface, error), needs []Interest) (*twin, func()) {
	w := newTwin("ours")
	// As package manager makes it. No access review calls Revoke here.
	s := NewSet(Options{
		Clients: clients, Retry: Exponential(4*time.Second, 30*time.Second, nil), Reauthorize: true,
		OnWatchError: func(e WatchError) { w.hear(e.Key, e.Err) },
	})
	views := map[Key]Lister{}
	for i, view := range s.Require((*ambitHandler)(&ambitTwin{w, views}), needs) {
		views[needs[i].Key] = view
	}
	w.shown = func(key Key) map[string]string { return versionsOf(views[key].List()) }
	w.retry = s.Retry
	return w, begin(t, s)
}

type ambitTwin struct {
	twin  *twin
	views map[Key]Lister
}

type ambitHandler ambitTwin

// Changed implements EventHandler.
func (h *ambitHandler) Changed(e Event) {
	switch {
	case e.Object != nil:
		h.twin.note(e.Key, e.Type, e.Object)
	case e.Type == Synced:
		h.twin.noteAll(e.Key, h.views[e.Key].List())
	}
}

// newClientGoTwin starts a factory of dynamic informers for each key; the function ends
// them and waits.
func newClientGoTwin(t *testing.T, client dynamic.Interface, needs []Interest) (*twin, func()) {
	t.Helper()
	w := newTwin("client-go")
	w.retry = func(Key) {} // there is no such thing
	stop := make(chan struct{})
	informers := map[Key]cache.SharedIndexInformer{}
	var factories []dynamicinformer.DynamicSharedInformerFactory
	for _, need := range needs {
		key := need.Key
		factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, key.Namespace, func(o *metav1.ListOptions) {
			o.LabelSelector, o.FieldSelector = key.LabelSelector, key.FieldSelector
		})
		shared := factory.ForResource(key.GVR).Informer()
		if err := shared.SetWatchErrorHandler(func(_ *cache.Reflector, err error) { w.hear(key, err) }); err != nil {
			t.Fatal(err)
		}
		if _, err := shared.AddEventHandler(w.clientGoHandler(key)); err != nil {
			t.Fatal(err)
		}
		factory.Start(stop)
		informers[key] = shared
		factories = append(factories, factory)
	}
	w.shown = func(key Key) map[string]string {
		var objects []*unstructured.Unstructured
		for _, obj := range informers[key].GetStore().List() {
			objects = append(objects, obj.(*unstructured.Unstructured))
		}
		return versionsOf(objects)
	}
	return w, func() {
		close(stop)
		for _, factory := range factories {
			factory.Shutdown()
		}
	}
}

// clientGoHandler ignores updates that change no resourceVersion, as handlers do: after
// each list client-go says of every object that it was updated.
func (w *twin) clientGoHandler(key Key) cache.ResourceEventHandlerFuncs {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { w.note(key, Added, obj.(*unstructured.Unstructured)) },
		UpdateFunc: func(old, obj any) {
			if object := obj.(*unstructured.Unstructured); object.GetResourceVersion() != old.(*unstructured.Unstructured).GetResourceVersion() {
				w.note(key, Updated, object)
			}
		},
		DeleteFunc: func(obj any) {
			if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = unknown.Obj
			}
			w.note(key, Deleted, obj.(*unstructured.Unstructured))
		},
	}
}

func versionsOf(objects []*unstructured.Unstructured) map[string]string {
	versions := map[string]string{}
	for _, object := range objects {
		versions[object.GetName()] = object.GetResourceVersion()
	}
	return versions
}

// twinStage is an API server with both twins on it.
type twinStage struct {
	*env
	needs            []Interest
	namespace, group string
	ours, theirs     *twin
	patience         time.Duration // how long a twin may take in a step
	outage           time.Duration // how long what is taken away stays away
	measured         map[string]*measurement

	// What can be done to the requests of both twins. Each is nil where the API server
	// cannot be made to.
	endWatches func()      // all watches end, without an error
	expire     func()      // the next event of each watch is a 410
	answer     func(error) // to each list and watch, until it is nil
}

// measurement is what a step has shown.
type measurement struct {
	took map[string]time.Duration // by twin; negative: not within the patience
	told map[string]string        // by twin
}

// truth is what there is under a key: resourceVersions by name.
func (s *twinStage) truth(key Key) map[string]string {
	s.Helper()
	list, err := s.objects.Resource(key.GVR).Namespace(key.Namespace).
		List(s.Context(), metav1.ListOptions{LabelSelector: key.LabelSelector})
	if apierrors.IsNotFound(err) {
		return nil
	}
	s.must(err)
	versions := map[string]string{}
	for _, object := range list.Items {
		versions[object.GetName()] = object.GetResourceVersion()
	}
	return versions
}

// measure waits until both twins are as they should be, and notes how long each took.
func (s *twinStage) measure(step string, right func(*twin) bool) {
	s.Helper()
	began := time.Now()
	m := &measurement{took: map[string]time.Duration{}, told: map[string]string{}}
	for len(m.took) < 2 {
		for _, w := range []*twin{s.ours, s.theirs} {
			if _, done := m.took[w.name]; done {
				continue
			}
			switch took := time.Since(began); {
			case right(w):
				m.took[w.name] = took
			case took > s.patience:
				m.took[w.name] = -1
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	for _, w := range []*twin{s.ours, s.theirs} {
		m.told[w.name] = w.takeTold()
	}
	s.measured[step] = m
	s.Logf("%-10s ours %8v, told %s; client-go %8v, told %s", step,
		m.took[s.ours.name].Round(time.Millisecond), m.told[s.ours.name], m.took[s.theirs.name].Round(time.Millisecond), m.told[s.theirs.name])
}

// shows returns whether a twin shows what there is.
func (s *twinStage) shows() func(*twin) bool {
	s.Helper()
	truth := map[Key]map[string]string{}
	for _, need := range s.needs {
		truth[need.Key] = s.truth(need.Key)
	}
	return func(w *twin) bool {
		for key, want := range truth {
			if !maps.Equal(want, w.shown(key)) {
				return false
			}
		}
		return true
	}
}

func (s *twinStage) label(name, value string) {
	s.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{"app":%q}}}`, value)
	_, err := s.objects.Resource(configMaps).Namespace(s.namespace).Patch(s.Context(), name, "application/merge-patch+json", patch, metav1.PatchOptions{})
	s.must(err)
}

func (s *twinStage) things() dynamic.ResourceInterface {
	return s.objects.Resource(schema.GroupVersionResource{Group: s.group, Version: "v1", Resource: "things"}).Namespace(s.namespace)
}

func (s *twinStage) createThing(name string) {
	s.Helper()
	made := thing(name, "1")
	made.SetAPIVersion(s.group + "/v1")
	made.SetNamespace(s.namespace)
	made.SetUID("")
	s.eventually("created", func() bool {
		_, err := s.things().Create(s.Context(), made.DeepCopy(), metav1.CreateOptions{})
		return err == nil || apierrors.IsAlreadyExists(err)
	})
}

// grantBoth and revokeBoth are the right of both twins in the namespace.
func (s *twinStage) grantBoth() {
	s.Helper()
	for resource, object := range s.rbac() {
		_, err := s.objects.Resource(resource).Namespace(s.namespace).Create(s.Context(), object, metav1.CreateOptions{})
		s.must(err)
	}
}

func (s *twinStage) revokeBoth() {
	s.Helper()
	for resource, object := range s.rbac() {
		s.must(s.objects.Resource(resource).Namespace(s.namespace).Delete(s.Context(), object.GetName(), metav1.DeleteOptions{}))
	}
}

func (s *twinStage) rbac() map[schema.GroupVersionResource]*unstructured.Unstructured {
	const group = "rbac.authorization.k8s.io"
	object := func(kind, field string, value any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": group + "/v1", "kind": kind, "metadata": map[string]any{"name": "watcher", "namespace": s.namespace}, field: value,
		}}
	}
	role := object("Role", "rules", []any{map[string]any{"apiGroups": []any{"*"}, "resources": []any{"*"}, "verbs": []any{"list", "watch"}}})
	binding := object("RoleBinding", "roleRef", map[string]any{"apiGroup": group, "kind": "Role", "name": "watcher"})
	binding.Object["subjects"] = []any{map[string]any{"apiGroup": group, "kind": "User", "name": "watcher"}}
	of := func(resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}
	}
	return map[schema.GroupVersionResource]*unstructured.Unstructured{of("roles"): role, of("rolebindings"): binding}
}

// twinScript is what happens to both. A step that an API server cannot be made to take is
// left out there.
func twinScript() []func(*twinStage) {
	return []func(*twinStage){objectsComeAndGo, watchesEnd, watchesExpire, serverIsBusy, serverFails, serverIsAway, rightGoes, kindGoes, allEndsWell}
}

func objectsComeAndGo(s *twinStage) {
	for _, name := range []string{"a", "b", "c"} {
		s.put(s.namespace, name, "1")
	}
	s.label("a", "x")
	s.label("b", "x")
	s.createThing("one")
	s.measure("come", s.shows())
	s.put(s.namespace, "a", "2")
	s.label("b", "y") // leaves the selector
	s.delete(s.namespace, "c")
	s.must(s.things().Delete(s.Context(), "one", metav1.DeleteOptions{}))
	s.createThing("two")
	s.measure("change", s.shows())
}

func watchesEnd(s *twinStage) {
	time.Sleep(2 * time.Second) // client-go takes a watch that ends sooner for a failed one
	s.endWatches()
	s.put(s.namespace, "a", "3")
	s.put(s.namespace, "d", "1")
	s.measure("end", s.shows())
}

func watchesExpire(s *twinStage) {
	if s.expire == nil {
		return
	}
	time.Sleep(2 * time.Second)
	s.expire()
	s.put(s.namespace, "a", "4")
	s.delete(s.namespace, "d")
	s.createThing("four") // so that each watch has an event
	s.measure("expire", s.shows())
}

// fails has each request fail for an outage, and measures from its end on.
func (s *twinStage) fails(step string, err error) {
	if s.answer == nil {
		return
	}
	time.Sleep(2 * time.Second)
	s.answer(err)
	s.endWatches()
	s.put(s.namespace, "a", step)
	time.Sleep(s.outage)
	s.put(s.namespace, step, "1")
	s.answer(nil)
	s.measure(step, s.shows())
}

func serverIsBusy(s *twinStage) { s.fails("busy", statusError(429, "TooManyRequests")) }

func serverFails(s *twinStage) { s.fails("fail", statusError(500, "InternalError")) }

func serverIsAway(s *twinStage) { s.fails("away", refused()) }

func rightGoes(s *twinStage) {
	key := s.needs[0].Key
	s.revokeBoth()
	secret := s.in(5*time.Second, func() { s.put(s.namespace, "secret", "1") })
	s.measure("revoke", func(w *twin) bool {
		secret()
		return w.heard(key, "Forbidden")
	})
	expect(s.T, "what ours shows without a right", 0, len(s.ours.shown(key)))
	expect(s.T, "client-go shows what came after the right was gone", true, s.theirs.shown(key)["secret"] != "")
	s.delete(s.namespace, "b")
	time.Sleep(s.outage)
	s.grantBoth()
	review := s.in(reviewTime, func() {
		for _, need := range s.needs {
			s.ours.retry(need.Key)
			s.theirs.retry(need.Key)
		}
	})
	shows := s.shows()
	s.measure("grant", func(w *twin) bool {
		review()
		return shows(w)
	})
}

// reviewTime is how long Ambit takes to learn of a grant where it may not watch RBAC
// objects: its access reviews come every 4 seconds then.
const reviewTime = 4 * time.Second

// in returns a function that calls do once, when it is called after d.
func (s *twinStage) in(d time.Duration, do func()) func() {
	at, done := time.Now().Add(d), false
	return func() {
		if !done && time.Now().After(at) {
			done = true
			do()
		}
	}
}

func kindGoes(s *twinStage) {
	s.undefine(s.group)
	s.measure("lose", func(w *twin) bool { return w.heard(s.needs[2].Key, "NotFound") })
	time.Sleep(s.outage)
	s.define(s.group)
	s.createThing("three")
	s.measure("return", s.shows())
}

// allEndsWell: the same objects and the same last events.
func allEndsWell(s *twinStage) {
	s.put(s.namespace, "a", "9")
	s.put(s.namespace, "e", "1")
	s.measure("rest", s.shows())
	for _, need := range s.needs {
		// Handlers are told after the objects are there.
		for began := time.Now(); time.Since(began) < s.patience && !maps.Equal(s.theirs.lastEvents(need.Key), s.ours.lastEvents(need.Key)); {
			time.Sleep(20 * time.Millisecond)
		}
		if diff := cmp.Diff(s.theirs.lastEvents(need.Key), s.ours.lastEvents(need.Key), cmp.AllowUnexported(lastEvent{})); diff != "" {
			s.Errorf("last events of %s (-client-go +ours):\n%s", need.Key, diff)
		}
	}
}

// play runs the script on a stage whose API server is there.
func (s *twinStage) play(clients func(string) (dynamic.Interface, metadata.Interface, error)) {
	s.Helper()
	s.measured = map[string]*measurement{}
	s.grantBoth()
	s.define(s.group)
	time.Sleep(time.Second) // until the authorizer knows
	set := fields.New("data", "spec")
	need := func(resource schema.GroupVersionResource, selector string) Interest {
		return Interest{Fields: set, Key: Key{GVR: resource, Namespace: s.namespace, LabelSelector: selector, Form: Form{Fields: set.String()}}}
	}
	s.needs = []Interest{
		need(configMaps, ""), need(configMaps, "app=x"),
		need(schema.GroupVersionResource{Group: s.group, Version: "v1", Resource: "things"}, ""),
	}
	client, _, err := clients("")
	s.must(err)
	var endOurs, endTheirs func()
	s.ours, endOurs = newAmbitTwin(s.T, clients, s.needs)
	defer endOurs()
	s.theirs, endTheirs = newClientGoTwin(s.T, client, s.needs)
	defer endTheirs()
	s.measure("start", s.shows())
	for _, step := range twinScript() {
		step(s)
	}
}

// twinFaults disturb the twins' lists and watches.
type twinFaults struct {
	mu      sync.Mutex // guards what is below
	err     error      // the answer to each request, nil if there is none
	expires int        // which watches end with a 410: those opened before
	ends    int        // the same without an error
	opened  int
}

func (f *twinFaults) Before(_ context.Context, r sim.Request) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.User != "watcher" {
		return nil
	}
	return f.err
}

func (f *twinFaults) After(_ context.Context, _ sim.Request, answer error) error { return answer }

func (f *twinFaults) Stream(r sim.Request) sim.Stream {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.User != "watcher" {
		return nil
	}
	f.opened++
	number := f.opened
	return func(watch.EventType, uint64) sim.Delivery {
		f.mu.Lock()
		defer f.mu.Unlock()
		return sim.Delivery{Expire: number <= f.expires, End: number <= f.ends}
	}
}

// TestTwinSimulated plays the script on the simulated API server, in virtual time, and
// holds the times against testdata/twin.txt.
func TestTwinSimulated(t *testing.T) {
	listed := readTwinList(t)
	longest := map[string]*measurement{}
	for range 8 { // both wait at random
		synctest.Test(t, func(t *testing.T) {
			for step, m := range playSimulated(t) {
				keepLongest(longest, step, m)
			}
		})
	}
	compareTwins(t, listed, longest)
}

func playSimulated(t *testing.T) map[string]*measurement {
	faults := &twinFaults{}
	server := sim.New(sim.Options{Seed: 1, AuthorizerLag: 10 * time.Millisecond, Faults: faults})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { server.Run(ctx) })
	defer func() { cancel(); running.Wait() }()
	s := &twinStage{
		env:       &env{T: t, objects: server.As(sim.Admin).Dynamic()},
		namespace: "default", group: "twin.example.com", patience: 15 * time.Minute, outage: 90 * time.Second,
		// A watch ends at its next event, as a broken connection does.
		endWatches: func() { faults.mu.Lock(); defer faults.mu.Unlock(); faults.ends = faults.opened },
		expire:     func() { faults.mu.Lock(); defer faults.mu.Unlock(); faults.expires = faults.opened },
		answer:     func(err error) { faults.mu.Lock(); defer faults.mu.Unlock(); faults.err = err },
	}
	s.play(func(string) (dynamic.Interface, metadata.Interface, error) {
		client := server.As("watcher")
		return client.Dynamic(), client.Metadata(), nil
	})
	return s.measured
}

// TestRealTwin plays the script on a real API server, in real time. What cannot be done to
// it is left out, and client-go is not waited for until its watches end by themselves.
func TestRealTwin(t *testing.T) {
	c := control.Cluster(t)
	config := c.User("watcher")
	config.UserAgent = t.Name()
	way := newLine(t, strings.TrimPrefix(config.Host, "https://"))
	config.Host = "https://" + way.address
	w := &env{T: t, cluster: c, objects: dynamic.NewForConfigOrDie(c.Admin())}
	namespace := w.namespace()
	s := &twinStage{
		env: w, namespace: namespace, group: "twin" + strings.ReplaceAll(namespace, "-", "") + ".example.com",
		patience: patience, outage: 5 * time.Second,
		endWatches: func() { way.cut(); way.mend(t) },
	}
	s.play(shared(t, config))
	for step, m := range s.measured {
		if m.took[s.ours.name] < 0 {
			t.Errorf("%s: not within %v", step, patience)
		}
	}
}
