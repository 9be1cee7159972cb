package sim

import (
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Options are the inputs of a Server. The zero value is valid.
type Options struct {
	// Seed decides uids and generated names: the same requests in the same order get
	// the same ones.
	Seed uint64
	// AuthorizerLag is how far the authorizer is behind the RBAC objects. 0 means that a
	// request is decided by what is stored when it comes in.
	AuthorizerLag time.Duration
	// ControllerLag is how long Run waits after a change before the controllers look at
	// it. 0 means 10ms.
	ControllerLag time.Duration
	// Workloads has Run do what the controllers of Deployments, ReplicaSets, StatefulSets and
	// Jobs do, and what runs Pods, which take PodDelay to start, to end and to go. 0 means a
	// second.
	Workloads bool
	PodDelay  time.Duration
	// History is how many changes of one resource a watch can be resumed over; an older
	// resourceVersion is answered 410. 0 means 10,000.
	History int
	// WatchBuffer is how many events a watch may be behind before it is ended. 0 means
	// 100.
	WatchBuffer int
	// Faults may refuse requests, lose answers and disturb watches. Nil means none.
	Faults Faults
	// Admission may refuse and change what users write. Nil: it does not.
	Admission Admission
	// Observer is told of each change, in order, with a lock of the server held: it must
	// not call the server. Nil: nobody is.
	Observer func(Change)
}

// Change is what the server has stored.
type Change struct {
	// Request is the one that led to it. Without a user: the garbage collector and the like.
	Request Request
	// Old and New are the object before and after, nil if it was or is not there. They are
	// shared: do not change them.
	Old, New *unstructured.Unstructured
	// Preconditions are those of a delete; nil: it had none.
	Preconditions *metav1.Preconditions
}

const (
	defaultHistory       = 10_000
	defaultWatchBuffer   = 100
	defaultControllerLag = 10 * time.Millisecond
	defaultPodDelay      = time.Second
	// firstVersion is where resourceVersions begin: they are not taken for other numbers.
	firstVersion = 1000
)

// Server is an API server in memory, with the controllers of kube-controller-manager
// that decide whether an object lives: see Run. Make one with New. It starts no
// goroutine; timers end watches whose timeout is over. It is safe for concurrent use.
type Server struct {
	options Options
	changed chan struct{} // holds one when the controllers may have something to do

	mu         sync.Mutex // guards what is below
	version    uint64     // the resourceVersion of the last write
	resources  map[schema.GroupResource]*resource
	sorted     []*resource             // the resources in a stable order; nil: to be made
	mappings   *meta.DefaultRESTMapper // of the resources; nil: to be made
	authorizer *authorizer
	random     *rand.Rand
	pages      map[string]page   // what is left of lists, by continue token
	actors     map[string]bool   // users who have acted as somebody else
	handled    Change            // of the request under way, without objects
	due        map[types.UID]due // what happens to Pods next
	written    chan struct{}     // closed with the next write; nil: nobody waits for it
}

// New makes a server with the built-in resources, the namespaces "default" and
// "kube-system", and the ClusterRoles that every authenticated user has.
func New(o Options) *Server {
	s := prepare(o)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range builtinResources() {
		s.resources[r.groupResource()] = r
	}
	s.bootstrapLocked()
	return s
}

// prepare makes a server without anything in it.
func prepare(o Options) *Server {
	if o.History == 0 {
		o.History = defaultHistory
	}
	if o.WatchBuffer == 0 {
		o.WatchBuffer = defaultWatchBuffer
	}
	if o.ControllerLag == 0 {
		o.ControllerLag = defaultControllerLag
	}
	if o.PodDelay == 0 {
		o.PodDelay = defaultPodDelay
	}
	if o.Faults == nil {
		o.Faults = noFaults{}
	}
	return &Server{
		version: firstVersion, options: o, changed: make(chan struct{}, 1), resources: map[schema.GroupResource]*resource{},
		authorizer: newAuthorizer(o.AuthorizerLag), random: rand.New(rand.NewPCG(o.Seed, 1)), pages: map[string]page{}, actors: map[string]bool{},
	}
}

// Compact forgets all changes so far: a watch that asks for them is answered 410, and
// so is the rest of a list.
func (s *Server) Compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.resources {
		r.history, r.compacted = nil, s.version
	}
	clear(s.pages)
}

// Watches returns what the open watches were opened with, in a stable order.
func (s *Server) Watches() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var open []Request
	for _, r := range s.sortedResourcesLocked() {
		for _, w := range sortedWatchers(r.watchers) {
			open = append(open, w.request)
		}
	}
	return open
}

// ResourceVersion returns that of the last write.
func (s *Server) ResourceVersion() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// Written returns a channel that is closed as soon as there is a write after the one of a
// resourceVersion.
func (s *Server) Written(after uint64) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.version != after {
		done := make(chan struct{})
		close(done)
		return done
	}
	if s.written == nil {
		s.written = make(chan struct{})
	}
	return s.written
}

// wake tells Run that something has changed. It never blocks.
func (s *Server) wake() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// now is the time of the server: that of package time, which is virtual under
// testing/synctest. managedFields take theirs from the same clock.
func now() metav1.Time { return metav1.NewTime(time.Now().UTC().Truncate(time.Second)) }
