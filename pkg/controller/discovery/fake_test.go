package discovery

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	thing     = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
	thingBeta = schema.GroupVersionKind{Group: "example.com", Version: "v1beta1", Kind: "Thing"}
	errSilent = errors.New("no answer")
)

// things is how a version of Thing is served.
func things(gvk schema.GroupVersionKind) Resource {
	return Resource{GVR: gvk.GroupVersion().WithResource("things"), Namespaced: true}
}

func mapping(gvk schema.GroupVersionKind, r Resource) *meta.RESTMapping {
	scope := meta.RESTScopeRoot
	if r.Namespaced {
		scope = meta.RESTScopeNamespace
	}
	return &meta.RESTMapping{Resource: r.GVR, GroupVersionKind: gvk, Scope: scope}
}

// fakeServer is an API server and the informers that watch it. The zero value serves nothing.
type fakeServer struct {
	mu      sync.Mutex // guards what is below
	served  map[schema.GroupKind]ServedKind
	silent  bool                          // it answers nothing
	missing []schema.GroupVersionResource // what informers miss
	during  func()                        // called once in the next round
	rounds  [][]schema.GroupKind
}

// serve has a kind served so from now on: in no version if none is given.
func (s *fakeServer) serve(gk schema.GroupKind, mappings ...*meta.RESTMapping) {
	s.answer(gk, ServedKind{Mappings: mappings})
}

func (s *fakeServer) answer(gk schema.GroupKind, as ServedKind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.served == nil {
		s.served = map[schema.GroupKind]ServedKind{}
	}
	s.served[gk] = as
}

func (s *fakeServer) setSilent(silent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent = silent
}

func (s *fakeServer) setMissing(resources ...schema.GroupVersionResource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.missing = resources
}

func (s *fakeServer) setDuring(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.during = do
}

// count is how many rounds there were.
func (s *fakeServer) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.rounds)
}

// last is what the last round asked about.
func (s *fakeServer) last() []schema.GroupKind {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.rounds) == 0 {
		return nil
	}
	return s.rounds[len(s.rounds)-1]
}

// forget forgets the rounds so far.
func (s *fakeServer) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rounds = nil
}

// mostKinds is how many kinds the largest round asked about.
func (s *fakeServer) mostKinds() (most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kinds := range s.rounds {
		most = max(most, len(kinds))
	}
	return most
}

// distinct is how many kinds were asked about.
func (s *fakeServer) distinct() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := map[schema.GroupKind]bool{}
	for _, kinds := range s.rounds {
		for _, gk := range kinds {
			asked[gk] = true
		}
	}
	return len(asked)
}

// find is Options.Served.
func (s *fakeServer) find(_ context.Context, kinds []schema.GroupKind) (map[schema.GroupKind]ServedKind, error) {
	s.mu.Lock()
	during := s.during
	s.during = nil
	s.mu.Unlock()
	if during != nil {
		during()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rounds = append(s.rounds, slices.Clone(kinds))
	if s.silent {
		return nil, errSilent
	}
	found := map[schema.GroupKind]ServedKind{}
	for _, gk := range kinds {
		found[gk] = s.served[gk]
	}
	return found, nil
}

// missed is Options.Missing.
func (s *fakeServer) missed() []schema.GroupVersionResource {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.missing
}

func (s *fakeServer) options() Options { return Options{Served: s.find, Missing: s.missed} }

// run runs the rounds of a Cache as its caller does, in a bubble, and notes the news. All has
// ended when the test has.
func run(t *testing.T, c *Cache) *newsLog {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(func() { stop(); synctest.Wait() })
	log := &newsLog{}
	go func() {
		for c.WaitForRound(ctx) {
			if news := c.PollRound(ctx); len(news) > 0 {
				log.add(news)
			}
		}
	}()
	return log
}

type newsLog struct {
	mu   sync.Mutex
	list []map[schema.GroupKind]bool
}

func (l *newsLog) add(news map[schema.GroupKind]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, news)
}

func (l *newsLog) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.list)
}
