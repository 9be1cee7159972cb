package streamgate

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/informer/listwatch"
	"github.com/ambit-dev/ambit/pkg/internal/wakeup"
	"github.com/ambit-dev/ambit/pkg/scopedcache/kindsettings"
	"github.com/ambit-dev/ambit/pkg/scopedcache/streamstore"
	"github.com/ambit-dev/ambit/test/sim"
)

// stage is a gate with one stream of the ConfigMaps of a namespace, on the simulated cluster. It counts requests.
type stage struct {
	*testing.T
	server *sim.Server
	gate   *Gate
	store  *streamstore.Store
	stream *streamstore.Stream
	dirty  chan struct{} // the stream, or its rights, have changed

	mu           sync.Mutex // guards what is below
	opens, asked int        // lists and watches, and reviews
}

// Before counts a request. The answer to a review takes a while, as a real one does: it comes when the story waits, never
// between two of its calls.
func (s *stage) Before(_ context.Context, r sim.Request) error {
	if r.User == "operator" && r.About != "" {
		time.Sleep(time.Millisecond)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.User != "operator":
	case r.About != "":
		s.asked++
	case r.Resource.Resource == "configmaps":
		s.opens++
	}
	return nil
}
func (s *stage) After(_ context.Context, _ sim.Request, answer error) error { return answer }
func (s *stage) Stream(sim.Request) sim.Stream                              { return nil }

// counted returns how many requests there were since the last call.
func (s *stage) counted() (opens, reviews int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	opens, reviews = s.opens, s.asked
	s.opens, s.asked = 0, 0
	return opens, reviews
}

// play has a story told in virtual time, with the gate at work on a stream that a review decides on or not, and that is
// granted from the beginning or not.
func play(t *testing.T, reviewed, granted bool, story func(*stage)) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{T: t, dirty: make(chan struct{}, 1)}
		s.server = sim.New(sim.Options{Seed: 1, Faults: s})
		s.create("{apiVersion: v1, kind: Namespace, metadata: {name: one}}")
		s.create(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: one}}`)
		s.create(`{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: reader, namespace: one}, rules: [{apiGroups: [""], resources: [configmaps], verbs: [list, watch]}]}`)
		if granted {
			s.grant()
		}
		s.makeStore(reviewed)
		ctx, cancel := context.WithCancel(t.Context())
		informers := informer.NewSet(informer.Options{})
		reviews := access.New(access.Options{Reviews: func(string) (access.Reviews, error) { return s.server.As("operator").Reviews(), nil }})
		s.gate = New(informers, reviews)
		var running sync.WaitGroup
		for _, run := range []func(context.Context) error{informers.Start, reviews.Start, s.tend} {
			running.Go(func() {
				if err := run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		story(s)
		cancel()
		running.Wait()
	})
}

// tend has the stream tended whenever something has changed.
func (s *stage) tend(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.dirty:
			if s.store.HasStream("one") {
				s.gate.TendStream(s.stream)
			}
		}
	}
}

func (s *stage) changed() { wakeup.SendWake(s.dirty) }

func (s *stage) makeStore(reviewed bool) {
	client := s.server.As("operator")
	settings, err := kindsettings.New(&rest.Config{}, nil, cache.Options{Mapper: client.Mapper()})
	s.must(err)
	settings.Connect = func(_ kindsettings.Key, mapping *meta.RESTMapping, namespace string) (listwatch.Source, error) {
		return listwatch.DynamicSource(client.Dynamic().Resource(mapping.Resource).Namespace(namespace)), nil
	}
	kind, err := settings.NewKind(kindsettings.Key{GVK: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Flavor: kindsettings.Unstructured})
	s.must(err)
	s.store = streamstore.New(kind, streamstore.Options{Changed: s.changed})
	s.stream = s.store.NewStream("one", cache.Config{}, reviewed)
	s.store.AddStream(s.stream)
	s.changed()
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *stage) create(text string) {
	s.Helper()
	s.must(s.server.As(sim.Admin).CreateYAML(s.Context(), text))
}

// grant gives the rights to watch, and revoke takes them away.
func (s *stage) grant() {
	s.create(`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: reader, namespace: one}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}, subjects: [{kind: User, name: operator}]}`)
}

func (s *stage) revoke() {
	bindings := schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}
	s.must(s.server.As(sim.Admin).Dynamic().Resource(bindings).Namespace("one").Delete(s.Context(), "reader", metav1.DeleteOptions{}))
}

// expect lets time go by, and looks at the stream.
func (s *stage) expect(after time.Duration, state informer.State, missing ...string) {
	s.Helper()
	time.Sleep(after)
	synctest.Wait()
	got := s.store.StreamStates()["one"]
	var verbs []string
	for _, a := range got.Missing {
		verbs = append(verbs, a.Verb)
	}
	if diff := cmp.Diff(missing, verbs); diff != "" || got.State != state {
		s.Errorf("it is %s, want %s; missing (-want +got):\n%s", got.State, state, diff)
	}
	if open := len(s.server.Watches()); (open == 1) != (state == informer.Live) {
		s.Errorf("it is %s, and %d watches are open", got.State, open)
	}
}

// TestAllowed: a stream that is allowed is opened. It is asked for its rights only if a review decides.
func TestAllowed(t *testing.T) {
	for _, reviewed := range []bool{false, true} {
		play(t, reviewed, true, func(s *stage) {
			s.expect(time.Second, informer.Live)
			if _, reviews := s.counted(); (reviews > 0) != reviewed {
				s.Errorf("reviewed %v: %d reviews", reviewed, reviews)
			}
			s.gate.CloseStream(s.stream)
			s.store.RemoveStream(s.stream)
			time.Sleep(time.Hour)
			synctest.Wait()
			if opens, reviews := s.counted(); opens > 0 || reviews > 0 || len(s.server.Watches()) > 0 {
				s.Errorf("closed: %d requests, %d reviews, watches %v", opens, reviews, s.server.Watches())
			}
		})
	}
}

// TestDenied: a stream that a review decides on is not tried while that denies it; another one is tried once, and then its
// rights are asked for. Both know all verbs that are missing, and open when they are granted.
func TestDenied(t *testing.T) {
	for _, reviewed := range []bool{false, true} {
		play(t, reviewed, false, func(s *stage) {
			s.expect(10*time.Second, informer.Forbidden, "list", "watch")
			if opens, reviews := s.counted(); (opens > 0) == reviewed || reviews == 0 {
				s.Errorf("reviewed %v: %d requests and %d reviews", reviewed, opens, reviews)
			}
			s.grant()
			s.expect(2*time.Minute, informer.Live)
			s.revoke()
			s.expect(15*time.Minute, informer.Forbidden, "list", "watch") // without reviews it is known when the watch ends
		})
	}
}

// TestDecideStream: a stream that is never opened has its rights reviewed, until that is given back.
func TestDecideStream(t *testing.T) {
	play(t, true, false, func(s *stage) {
		synctest.Wait() // the gate is for one goroutine, and the other one waits now
		never := s.store.NewStream("two", cache.Config{}, true)
		s.create("{apiVersion: v1, kind: Namespace, metadata: {name: two}}")
		if got := s.gate.DecideStream(never); got != access.Unknown {
			s.Errorf("nobody has answered, and it is %v", got)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := s.gate.DecideStream(never); got != access.Denied {
			s.Errorf("nothing is granted, and it is %v", got)
		}
		s.create(`{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: reader, namespace: two}, rules: [{apiGroups: [""], resources: [configmaps], verbs: [list, watch]}]}`)
		s.create(`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: reader, namespace: two}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}, subjects: [{kind: User, name: operator}]}`)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := s.gate.DecideStream(never); got != access.Allowed {
			s.Errorf("it is granted, and it is %v", got)
		}
		synctest.Wait()
		s.gate.ForgetReview(never)
		s.gate.CloseStream(s.stream)
		s.store.RemoveStream(s.stream)
		time.Sleep(time.Second)
		s.counted()
		time.Sleep(time.Hour)
		if opens, reviews := s.counted(); opens > 0 || reviews > 0 {
			s.Errorf("nobody needs anything: %d requests and %d reviews", opens, reviews)
		}
	})
}
