package informer

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Set are all informers of a process, by key. Create it with New. It is safe
// for concurrent use; Start may be called once. Needs declared before Start are
// opened by it.
type Set struct {
	options Options
	connect func(Key) (source, error)
	slots   slots
	reopens *pacer
	epochs  atomic.Uint64 // the last one given out
	wake    chan struct{} // holds at most one; Start looks at unstarted
	outage  atomic.Bool   // an attempt did not reach the API server, and no stream was woken since
	verify  atomic.Bool   // see Verify
	resumed atomic.Uint64 // see Reopened

	// mu guards what is below. It is never held over I/O or a subscriber's call.
	// A stream's mu may be taken under it, never the other way round.
	mu        sync.Mutex
	streams   map[Key]*stream
	kept      map[EventHandler][]Lister // never an empty list
	unstarted []*stream
	started   bool
	ended     bool
	poked     time.Time // the last time that streams were woken after an outage
}

// New makes a Set. It starts nothing. It panics if Options.Clients is missing.
func New(o Options) *Set {
	if o.Clients == nil {
		panic("informer: Options.Clients is required")
	}
	o = o.withDefaults()
	s := &Set{
		options: o,
		connect: func(key Key) (source, error) { return connect(o.Clients, key) },
		slots:   make(slots, o.Opening),
		reopens: &pacer{ceiling: o.Reopens},
		wake:    make(chan struct{}, 1),
		streams: map[Key]*stream{},
		kept:    map[EventHandler][]Lister{},
	}
	s.verify.Store(o.Reauthorize)
	return s
}

// Start keeps the streams that are needed running until ctx ends. It returns
// when every goroutine that it started has ended; all streams are then Stopped,
// for good.
func (s *Set) Start(ctx context.Context) error {
	if err := s.begin(); err != nil {
		return err
	}
	var running sync.WaitGroup
	for ctx.Err() == nil {
		for _, st := range s.takeUnstarted() {
			running.Go(func() { st.run(ctx) })
		}
		select {
		case <-ctx.Done():
		case <-s.wake:
		}
	}
	running.Wait()
	s.end()
	return nil
}

func (s *Set) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return errors.New("starting streams: they were started before")
	}
	s.started = true
	return nil
}

func (s *Set) takeUnstarted() []*stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.unstarted
	s.unstarted = nil
	return taken
}

// end stops what Keep may have added after the last look at unstarted.
func (s *Set) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.unstarted = nil
	for _, st := range s.streams {
		st.stop()
	}
}

// Retry tries a stream that was refused, or that cannot reach the API server,
// again now instead of after its backoff. Call it when something hints that the
// answer has changed. It does nothing to any other stream, and never blocks.
func (s *Set) Retry(key Key) {
	if st := s.find(key); st != nil {
		st.poke()
	}
}

// States returns the status of all streams that are needed, sorted by key.
func (s *Set) States() []KeyStatus {
	all := s.all()
	states := make([]KeyStatus, len(all))
	for i, st := range all {
		states[i] = st.describe()
	}
	slices.SortFunc(states, func(a, b KeyStatus) int { return compareKeys(a.Key, b.Key) })
	return states
}

func (s *Set) all() []*stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*stream, 0, len(s.streams))
	for _, st := range s.streams {
		all = append(all, st)
	}
	return all
}

func (s *Set) find(key Key) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams[key]
}

// Observe is read-your-own-writes: it puts an object, as the API server answered
// a write of it, into the store of a stream before the event of that write
// arrives. Without it, a subscriber that looks at the cache right after a write
// sees the time before it.
//
// Subscribers that need the object are told, except those given as by (the
// writer knows already); the event of the write then tells nobody. The object is
// ignored where the stream knows better: it has seen a newer one, or has passed
// its resourceVersion without it (it is deleted, or not selected). While the
// first list is not in, the object waits and is used if the list turns out older.
//
// obj stays the caller's. A key that nobody needs is ignored.
func (s *Set) Observe(key Key, obj *unstructured.Unstructured, by ...EventHandler) {
	if st := s.find(key); st != nil {
		st.observe(obj, by)
	}
}

// Deleted is Observe for a deletion that the API server has accepted: obj is the
// object as it was last known, with its uid and resourceVersion. Events and lists
// from before the deletion no longer bring it back. An object that lingers
// because of a finalizer comes back, as Added, with its deletionTimestamp.
func (s *Set) Deleted(key Key, obj *unstructured.Unstructured, by ...EventHandler) {
	if st := s.find(key); st != nil {
		st.deleted(obj, by)
	}
}

// unreachable notes that an attempt did not reach the API server.
func (s *Set) unreachable() { s.outage.Store(true) }

// reached is called for every answer of the API server. The first one after an
// outage ends the backoff of all streams that wait, at most once a second: if it comes
// too early for that, the next one does.
func (s *Set) reached() {
	if !s.outage.Load() || !s.mayPoke() {
		return
	}
	for _, st := range s.all() {
		st.pokeDegraded()
	}
}

func (s *Set) mayPoke() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.options.Clock.Now()
	if now.Sub(s.poked) < time.Second || !s.outage.CompareAndSwap(true, false) {
		return false
	}
	s.poked = now
	return true
}
