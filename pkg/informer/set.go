package informer

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
)

// Set are all informers of a process, by key. Create it with New. It is safe
// for concurrent use; Start may be called once. Needs declared before Start are
// opened by it.
type Set struct {
	env       *environment
	wakeStart chan struct{} // holds at most one; Start looks at unstarted

	// mu guards what is below. It is never held over I/O or a handler's call.
	// An informer's mu may be taken under it, never the other way round.
	mu        sync.Mutex
	informers map[Key]*sharedInformer
	required  map[EventHandler][]Lister // never an empty list
	unstarted []*sharedInformer
	started   bool
	ended     bool
}

// New makes a Set. It starts nothing. It panics if Options.Clients is missing.
func New(o Options) *Set {
	if o.Clients == nil {
		panic("informer: Options.Clients is required")
	}
	o = o.withDefaults()
	s := &Set{
		wakeStart: make(chan struct{}, 1),
		informers: map[Key]*sharedInformer{},
		required:  map[EventHandler][]Lister{},
	}
	s.env = newEnvironment(o, s.wakeDegraded)
	return s
}

// Start keeps the informers that are needed running until ctx ends. It returns
// when every goroutine that it started has ended; all informers are then Stopped,
// for good.
func (s *Set) Start(ctx context.Context) error {
	if err := s.markStarted(); err != nil {
		return err
	}
	var running sync.WaitGroup
	for ctx.Err() == nil {
		for _, st := range s.takeUnstarted() {
			running.Go(func() { st.runEpochs(ctx) })
		}
		select {
		case <-ctx.Done():
		case <-s.wakeStart:
		}
	}
	running.Wait()
	s.markEnded()
	return nil
}

func (s *Set) markStarted() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return errors.New("starting streams: they were started before")
	}
	s.started = true
	return nil
}

func (s *Set) takeUnstarted() []*sharedInformer {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.unstarted
	s.unstarted = nil
	return taken
}

// markEnded stops what Require may have added after the last look at unstarted.
func (s *Set) markEnded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.unstarted = nil
	for _, st := range s.informers {
		st.stopInformer()
	}
}

// Retry tries an informer that was refused, or that cannot reach the API server,
// again now instead of after its backoff. Call it when something hints that the
// answer has changed. It does nothing to any other informer, and never blocks.
func (s *Set) Retry(key Key) {
	if st := s.informerOf(key); st != nil {
		st.wakeUp()
	}
}

// States returns the status of all informers that are needed, sorted by key.
func (s *Set) States() []KeyStatus {
	all := s.allInformers()
	states := make([]KeyStatus, len(all))
	for i, st := range all {
		states[i] = st.keyStatus()
	}
	return states
}

// allInformers are sorted by key.
func (s *Set) allInformers() []*sharedInformer {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*sharedInformer, 0, len(s.informers))
	for _, key := range slices.SortedFunc(maps.Keys(s.informers), compareKeys) {
		all = append(all, s.informers[key])
	}
	return all
}

func (s *Set) informerOf(key Key) *sharedInformer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.informers[key]
}

// wakeDegraded ends the backoff of all informers that wait for the API server.
func (s *Set) wakeDegraded() {
	for _, st := range s.allInformers() {
		st.wakeIfDegraded()
	}
}
