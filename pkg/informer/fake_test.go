package informer

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/ambit-dev/ambit/pkg/informer/listwatch"
	"github.com/ambit-dev/ambit/pkg/informer/objectstore"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
)

// server is an API server of one resource, at the edge where informers meet it.
type server struct {
	mu        sync.Mutex
	rv        int
	objects   map[types.NamespacedName]*unstructured.Unstructured
	history   []logged
	compacted int // resourceVersions before it are gone
	watches   map[*openWatch]struct{}
	requests  []request
	inFlight  int
	timeouts  []time.Duration // that the watches were asked for with

	// answer is asked before each request; nil means that all is well.
	answer func(request) error
	// block holds up requests until it is closed or their context ends.
	block chan struct{}
	// slow holds up the first list inside a watch that is open, until it is closed.
	slow chan struct{}
	// old knows nothing of first lists inside a watch.
	old bool
}

// request is one that the server got.
type request struct {
	verb            string
	resourceVersion string
	initial         bool
}

type logged struct {
	rv    int
	event watch.Event
}

func newServer() *server {
	return &server{
		rv: 100, objects: map[types.NamespacedName]*unstructured.Unstructured{},
		watches: map[*openWatch]struct{}{},
	}
}

func (s *server) List(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	if err := s.receive(ctx, request{verb: "list", resourceVersion: opts.ResourceVersion}); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := &unstructured.UnstructuredList{Object: map[string]any{}}
	list.SetResourceVersion(strconv.Itoa(s.rv))
	for _, object := range s.objects {
		list.Items = append(list.Items, *object.DeepCopy())
	}
	return list, nil
}

func (s *server) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	initial := opts.SendInitialEvents != nil && *opts.SendInitialEvents
	if err := s.receive(ctx, request{"watch", opts.ResourceVersion, initial}); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	from, _ := strconv.Atoi(opts.ResourceVersion)
	switch {
	case initial && s.old:
		return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil)
	case !initial && from < s.compacted:
		return nil, apierrors.NewResourceExpired("too old resource version")
	}
	w := &openWatch{server: s, events: make(chan watch.Event, 1024)}
	s.watches[w] = struct{}{}
	context.AfterFunc(ctx, w.Stop)
	if opts.TimeoutSeconds != nil {
		s.timeouts = append(s.timeouts, time.Duration(*opts.TimeoutSeconds)*time.Second)
		time.AfterFunc(time.Duration(*opts.TimeoutSeconds)*time.Second, w.Stop)
	}
	if initial && s.slow != nil {
		go s.sendLate(w, s.slow)
		return clientWatch{w}, nil
	}
	if initial {
		s.sendAllLocked(w)
		return clientWatch{w}, nil
	}
	for _, entry := range s.history {
		if entry.rv > from {
			w.events <- entry.event
		}
	}
	return clientWatch{w}, nil
}

func (s *server) sendAllLocked(w *openWatch) {
	for _, object := range s.objects {
		w.events <- watch.Event{Type: watch.Added, Object: object.DeepCopy()}
	}
	mark := bookmark(s.rv)
	mark.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	w.events <- watch.Event{Type: watch.Bookmark, Object: mark}
}

func (s *server) sendLate(w *openWatch, when <-chan struct{}) {
	<-when
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sendAllLocked(w)
}

func bookmark(rv int) *unstructured.Unstructured {
	mark := &unstructured.Unstructured{Object: map[string]any{}}
	mark.SetResourceVersion(strconv.Itoa(rv))
	return mark
}

func (s *server) receive(ctx context.Context, r request) error {
	s.mu.Lock()
	s.requests = append(s.requests, r)
	s.inFlight++
	answer, block := s.answer, s.block
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.inFlight--
	}()
	if block != nil {
		select {
		case <-block:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if answer != nil {
		return answer(r)
	}
	return ctx.Err()
}

// fails makes every request fail; nil makes them work again.
func (s *server) fails(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = nil
	if err != nil {
		s.answer = func(request) error { return err }
	}
}

// failsOnce makes the next request fail.
func (s *server) failsOnce(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = func(request) error {
		s.fails(nil)
		return err
	}
}

// put creates or changes an object, and returns it as the answer of the write.
func (s *server) put(object *unstructured.Unstructured) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rv++
	object = object.DeepCopy()
	object.SetResourceVersion(strconv.Itoa(s.rv))
	kind := watch.Modified
	if _, ok := s.objects[objectstore.NameOf(object)]; !ok {
		kind = watch.Added
	}
	s.objects[objectstore.NameOf(object)] = object
	s.sendLocked(watch.Event{Type: kind, Object: object})
	return object.DeepCopy()
}

func (s *server) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rv++
	key := types.NamespacedName{Namespace: "ns", Name: name}
	object := s.objects[key].DeepCopy()
	object.SetResourceVersion(strconv.Itoa(s.rv))
	delete(s.objects, key)
	s.sendLocked(watch.Event{Type: watch.Deleted, Object: object})
}

func (s *server) sendLocked(event watch.Event) {
	s.history = append(s.history, logged{s.rv, event})
	for w := range s.watches {
		w.events <- watch.Event{Type: event.Type, Object: event.Object.DeepCopyObject()}
	}
}

// compact forgets the history up to now.
func (s *server) compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rv++
	s.compacted = s.rv
	s.history = nil
}

// end closes all watches, as a timeout does; with an error inside first if err
// is one.
func (s *server) end(err *apierrors.StatusError) {
	for w := range s.copyWatches() {
		if err != nil {
			w.events <- watch.Event{Type: watch.Error, Object: &err.ErrStatus}
			continue
		}
		w.Stop()
	}
}

func (s *server) copyWatches() map[*openWatch]struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	copied := map[*openWatch]struct{}{}
	for w := range s.watches {
		copied[w] = struct{}{}
	}
	return copied
}

// flying returns how many requests have no answer yet.
func (s *server) flying() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inFlight
}

// limits returns how long the watches so far were asked to last.
func (s *server) limits() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.timeouts)
}

// take returns the requests since the last call.
func (s *server) take() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.requests
	s.requests = nil
	return taken
}

type openWatch struct {
	server *server
	events chan watch.Event
	once   sync.Once
}

func (w *openWatch) ResultChan() <-chan watch.Event { return w.events }

// Stop ends the watch at the server.
func (w *openWatch) Stop() {
	w.once.Do(func() {
		w.server.mu.Lock()
		defer w.server.mu.Unlock()
		delete(w.server.watches, w)
		close(w.events)
	})
}

// clientWatch is what a client has of a watch. As client-go's do, it may say when
// it is stopped that it broke.
type clientWatch struct{ *openWatch }

func (w clientWatch) Stop() {
	broken := statusError(500, "InternalError").ErrStatus
	w.server.mu.Lock()
	if _, open := w.server.watches[w.openWatch]; open && len(w.events) < cap(w.events) {
		w.events <- watch.Event{Type: watch.Error, Object: &broken}
	}
	w.server.mu.Unlock()
	w.openWatch.Stop()
}

// recorder is an EventHandler that remembers what it was told.
type recorder struct {
	mu     sync.Mutex
	events []Event
}

func (r *recorder) Changed(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// take returns what was told since the last call, as text.
func (r *recorder) take() []string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	var told []string
	for _, e := range r.events {
		text := string(e.Type)
		switch {
		case e.Object != nil:
			text += " " + e.Object.GetName()
		case e.Type == StateChanged:
			text += " " + string(e.State)
		}
		told = append(told, text)
	}
	r.events = nil
	return told
}

func clientsOfNobody(string) (dynamic.Interface, metadata.Interface, error) {
	return nil, nil, fmt.Errorf("no clients here")
}

// testSet are a Set on servers by namespace.
func testSet(servers map[string]*server, o Options) *Set {
	o.Clients = clientsOfNobody
	s := NewSet(o)
	s.env.connect = func(key Key, decode decoder) (listwatch.Source, error) {
		return servers[key.Namespace], nil
	}
	return s
}

// begin starts informers; the returned function stops them and waits.
func begin(t *testing.T, s *Set) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Start(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Start: %v", err)
		}
	}
}

func keptFields() *fields.Set { return fields.New("spec") }

func needOf(namespace string) Interest {
	return Interest{
		Key: Key{
			GVR:       schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"},
			Namespace: namespace, Form: Form{Fields: keptFields().String()},
		},
		Fields: keptFields(),
	}
}

// thing is an object of namespace ns.
func thing(name string, spec any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Thing",
		"metadata": map[string]any{"name": name, "namespace": "ns", "uid": "uid-" + name},
		"spec":     spec,
	}}
}

func labelled(object *unstructured.Unstructured, key, value string) *unstructured.Unstructured {
	object = object.DeepCopy()
	object.SetLabels(map[string]string{key: value})
	return object
}

func refused() error {
	return fmt.Errorf("dial tcp: %w", syscall.ECONNREFUSED)
}

func statusError(code int32, reason metav1.StatusReason) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: http.StatusText(int(code)),
	}}
}

// brokenOnce is a server whose first watch has ended before it is returned.
type brokenOnce struct {
	*server
	done bool
}

func (b *brokenOnce) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	w, err := b.server.Watch(ctx, opts)
	if err == nil && !b.done {
		b.done = true
		w.Stop()
		return watch.NewEmptyWatch(), nil
	}
	return w, err
}

// slowList is a server whose lists take a second to notice that their context
// has ended.
type slowList struct {
	*server
	ended *bool
}

func (s slowList) List(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	<-ctx.Done()
	time.Sleep(time.Second)
	*s.ended = true
	return nil, ctx.Err()
}
