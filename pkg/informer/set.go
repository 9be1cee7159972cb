package informer

import (
	"context"
	"errors"
	"maps"
	"slices"
)

// errNobody is that all informers have left a stream whose end has not come yet.
var errNobody = errors.New("nobody needs it")

// Set are the informers that one user needs, by key. Create it with NewSet; ForUser makes one for another user of the same
// informers. It is safe for concurrent use; Start may be called once. Needs declared before Start are opened by it, or before if another
// Set of the same informers runs.
type Set struct {
	*pool
	onError func(WatchError) // nil if nobody is told

	// The pool's mu guards what is below.
	required    map[EventHandler][]Lister // never an empty list
	uses        map[*sharedInformer]int   // how many needs of required hold each
	reauthorize bool
	started     bool
	ended       bool
}

// NewSet makes a Set. It starts nothing.
func NewSet(o Options) *Set {
	p := newPool(o.withDefaults())
	return p.newSet(UserOptions{OnWatchError: o.OnWatchError, Reauthorize: o.Reauthorize})
}

// UserOptions are those Options that each user of shared informers has.
type UserOptions struct {
	// OnWatchError is that of Options, for the informers that this user needs.
	OnWatchError func(WatchError)
	// Reauthorize is that of Options. It is on while any user wants it.
	Reauthorize bool
}

// ForUser makes a Set for another user. Needs of one key share an informer, whosever they are, and informers whose keys
// differ only in what is kept share a stream where SharedStorage says so. Each Set is started by its user: informers run
// while any Set does that needs them. What a Set needs is released when it ends.
func (s *Set) ForUser(o UserOptions) *Set { return s.newSet(o) }

// Start keeps the informers that are needed running until ctx ends. What the Set needs is Stopped
// then, for good, unless another one needs it as well. It returns when every goroutine has ended that was started for
// it alone.
func (s *Set) Start(ctx context.Context) error {
	if err := s.markStarted(); err != nil {
		return err
	}
	s.running.RunUntil(ctx, s.runStreams, s.markEnded)
	return nil
}

func (s *Set) markStarted() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return errors.New("starting streams: they were started before")
	}
	s.started = true
	s.sets = append(s.sets, s)
	s.setReauthorizeLocked()
	return nil
}

// markEnded releases all that the Set needs.
func (s *Set) markEnded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for sub, views := range s.required {
		for i, view := range views {
			if !slices.Contains(views[:i], view) {
				s.releaseLocked(sub, view)
			}
		}
	}
	clear(s.required)
	s.sets = slices.DeleteFunc(s.sets, func(other *Set) bool { return other == s })
	s.reauthorize = false
	s.setReauthorizeLocked()
}

// Retry tries an informer that was refused, or that cannot reach the API server,
// again now instead of after its backoff. Call it when something hints that the
// answer has changed. It does nothing to any other stream, and never blocks.
func (s *Set) Retry(key Key) {
	for _, st := range s.informersOf(key) {
		st.wakeUp()
	}
}

// States returns the status of all informers that the Set needs, sorted by key.
func (s *Set) States() []KeyStatus {
	s.mu.Lock()
	needed := slices.SortedFunc(maps.Keys(s.uses), compareInformers)
	s.mu.Unlock()
	states := make([]KeyStatus, len(needed))
	for i, st := range needed {
		states[i] = st.keyStatus()
	}
	return states
}

// needsInformer reports whether the Set needs an informer.
func (s *Set) needsInformer(st *sharedInformer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.uses[st] > 0
}
