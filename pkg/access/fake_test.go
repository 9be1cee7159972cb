package access

import (
	"context"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// probe is a request that the fake API server has got.
type probe struct {
	at     time.Duration // since the start
	place  Key
	access Access // zero: the rules
}

// server is an API server without RBAC: it knows who may do what.
type server struct {
	start time.Time

	mu         sync.Mutex // guards what is below
	granted    map[Key]map[Access]bool
	forbidden  map[Key]map[Access]bool // what an authorizer denies whatever the rules say
	named      map[Key][]authorizationv1.ResourceRule
	incomplete map[Key]bool
	hidden     map[Key]map[Access]bool // granted, but in no rules
	err        error
	delay      func(Key) time.Duration
	probes     []probe
}

// reviews are those of an identity.
type fakeReviews struct {
	server   *server
	identity string
}

func (f fakeReviews) Rules(ctx context.Context, namespace string) (Rules, error) {
	at := Key{f.identity, namespace}
	if namespace == nowhere {
		at = Key{Identity: f.identity}
	}
	if err := f.server.serve(ctx, at, Access{}); err != nil {
		return Rules{}, err
	}
	f.server.mu.Lock()
	defer f.server.mu.Unlock()
	rules := Rules{Items: f.server.named[at], Incomplete: f.server.incomplete[at]}
	for a := range f.server.granted[at] {
		rules.Items = append(rules.Items, ruleFor(a))
	}
	return rules, nil
}

func (f fakeReviews) Access(ctx context.Context, namespace string, a Access) (Verdict, error) {
	at := Key{f.identity, namespace}
	if err := f.server.serve(ctx, at, a); err != nil {
		return Verdict{}, err
	}
	f.server.mu.Lock()
	defer f.server.mu.Unlock()
	return Verdict{Allowed: f.server.truth(at, a)}, nil
}

// truth says what an access review says; mu is held.
func (s *server) truth(at Key, a Access) bool {
	return (s.granted[at][a] || s.hidden[at][a]) && !s.forbidden[at][a]
}

// serve notes a request, and answers it with what is to go wrong.
func (s *server) serve(ctx context.Context, at Key, a Access) error {
	s.mu.Lock()
	s.probes = append(s.probes, probe{time.Since(s.start), at, a})
	err, delay := s.err, time.Duration(0)
	if s.delay != nil {
		delay = s.delay(at)
	}
	s.mu.Unlock()
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return err
}

func ruleFor(a Access) authorizationv1.ResourceRule {
	resource := a.Resource
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	rule := authorizationv1.ResourceRule{Verbs: []string{a.Verb}, APIGroups: []string{a.Group}, Resources: []string{resource}}
	if a.Name != "" {
		rule.ResourceNames = []string{a.Name}
	}
	return rule
}

// set changes what the server knows.
func (s *server) set(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

func put(in map[Key]map[Access]bool, at Key, accesses []Access, yes bool) {
	if in[at] == nil {
		in[at] = map[Access]bool{}
	}
	for _, a := range accesses {
		if in[at][a] = yes; !yes {
			delete(in[at], a)
		}
	}
}

func (s *server) grant(at Key, accesses ...Access) {
	s.set(func() { put(s.granted, at, accesses, true) })
}

func (s *server) revoke(at Key, accesses ...Access) {
	s.set(func() { put(s.granted, at, accesses, false) })
}

// since returns the requests after the first n.
func (s *server) since(n int) []probe {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]probe(nil), s.probes[n:]...)
}

func (s *server) count() int { return len(s.since(0)) }

// bench is a Reviewer on a fake server, inside a synctest bubble.
type bench struct {
	*testing.T
	server   *server
	reviewer *Reviewer
}

// inBubble runs a test with a Reviewer that runs, and ends with it.
func inBubble(t *testing.T, o Options, do func(*bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &server{
			start: time.Now(), granted: map[Key]map[Access]bool{}, hidden: map[Key]map[Access]bool{},
			forbidden: map[Key]map[Access]bool{}, incomplete: map[Key]bool{},
			named: map[Key][]authorizationv1.ResourceRule{},
		}
		o.Reviews = func(identity string) (Reviews, error) { return fakeReviews{s, identity}, nil }
		b := &bench{t, s, New(o)}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.reviewer.Start(ctx) }()
		do(b)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Start: %v", err)
		}
	})
}

// pass lets time pass.
func (b *bench) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// listener is a Subscriber that counts.
type listener struct {
	mu   sync.Mutex
	told map[Key]int
}

func newListener() *listener { return &listener{told: map[Key]int{}} }

func (l *listener) Changed(at Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told[at]++
}

// take returns how often it was told of each key since it was last asked.
func (l *listener) take() map[Key]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	told := maps.Clone(l.told)
	clear(l.told)
	return told
}

func expect[T any](t testing.TB, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// times are the seconds of probes.
func times(probes []probe) []float64 {
	at := []float64{}
	for _, p := range probes {
		at = append(at, p.at.Seconds())
	}
	return at
}

// most returns the most probes in any window.
func most(probes []probe, window time.Duration) int {
	most := 0
	for from, to := 0, 0; to < len(probes); to++ {
		for probes[to].at-probes[from].at >= window {
			from++
		}
		most = max(most, to-from+1)
	}
	return most
}

var (
	list       = Access{Verb: "list", Group: "apps", Resource: "deployments"}
	watching   = Access{Verb: "watch", Group: "apps", Resource: "deployments"}
	create     = Access{Verb: "create", Group: "apps", Resource: "deployments"}
	all        = []Access{list, watching, create}
	team       = Key{Namespace: "team"}
	everywhere = Key{}
	errBusy    = apierrors.NewInternalError(context.DeadlineExceeded)
	errNobody  = apierrors.NewUnauthorized("Unauthorized")
)
