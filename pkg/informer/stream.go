package informer

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ambit-dev/ambit/pkg/informer/listwatch"
	"github.com/ambit-dev/ambit/pkg/internal/wakeup"
)

// stream is one list and watch at the API server, for all informers that share it. Its own goroutine executes runEpochs;
// all other callers take mu.
type stream struct {
	key    Key // of its requests: nothing of its Form but Metadata
	env    *environment
	woken  chan struct{}         // holds at most one; ends a wait
	detach func(*sharedInformer) // gives an informer a stream of its own

	mu        sync.RWMutex // guards what is below; taken under the pool's mu, never over I/O
	informers []*sharedInformer
	cancel    context.CancelFunc // nil until the goroutine runs
	epoch     *epoch             // the last that began; nil before the first
	stopped   bool
}

func newStream(env *environment, st *sharedInformer, detach func(*sharedInformer)) *stream {
	s := &stream{key: st.key.ofStream(), env: env, woken: make(chan struct{}, 1), detach: detach, informers: []*sharedInformer{st}}
	st.setStream(s)
	return s
}

// canShare reports whether an informer may join: the API server is asked for the same, everybody can make the objects
// that they keep of JSON, and nobody else has a store of package objectstore.
func (s *stream) canShare(st *sharedInformer) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.stopped || s.env.options.Clients == nil || !st.isSharable() {
		return false
	}
	return !slices.ContainsFunc(s.informers, func(other *sharedInformer) bool {
		return !other.isSharable() || other.storage == nil && st.storage == nil
	})
}

// joinStream adds an informer. What is open is listed again for all: the others compare that with what they have.
func (s *stream) joinStream(st *sharedInformer) {
	st.setStream(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.informers = append(s.informers, st)
	switch {
	case s.epoch == nil:
	case s.epoch.finished: // it waits for the next one
		s.wakeUp()
	default:
		s.epoch.superseded.Store(true)
		s.epoch.end()
	}
}

// leaveStream removes an informer, and reports whether it was the last one.
func (s *stream) leaveStream(st *sharedInformer) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.informers = slices.DeleteFunc(slices.Clone(s.informers), func(other *sharedInformer) bool { return other == st })
	return len(s.informers) == 0
}

// currentInformers returns those who share the stream. Nobody may change the list.
func (s *stream) currentInformers() []*sharedInformer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.informers
}

// stopStream ends the stream for good. Its goroutine ends by itself.
func (s *stream) stopStream() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	if s.cancel != nil {
		s.cancel()
	}
}

// wakeUp ends a wait of the stream, or the next one if an attempt is under way: its
// answer may be older than the hint.
func (s *stream) wakeUp() {
	wakeup.SendWake(s.woken)
}

// waitOrWake returns after d, on a wake-up, or when ctx ends.
func (s *stream) waitOrWake(ctx context.Context, d time.Duration) {
	if wakeup.WaitFor(ctx, s.env.options.Clock, max(d, 0), s.woken) == wakeup.Woken && ctx.Err() != nil {
		s.wakeUp() // for the next epoch
	}
}

// withListWatcher calls do with the list-watcher of the stream's epoch, if there is one.
func (s *stream) withListWatcher(do func(*listwatch.ListWatcher)) {
	s.mu.RLock()
	var w *listwatch.ListWatcher
	if s.epoch != nil {
		w = s.epoch.listWatcher
	}
	s.mu.RUnlock()
	if w != nil {
		do(w)
	}
}

// revokeEpoch ends the epoch that is under way. Another number makes all that still
// comes from it too late.
func (s *stream) revokeEpoch(v listwatch.Classification) {
	s.mu.Lock() // no epoch begins meanwhile
	informers, changes := s.informers, make([]stateChange, len(s.informers))
	for i, st := range informers {
		changes[i] = st.applyChange(func() {
			st.status.Epoch = s.env.epochs.Add(1)
			st.watchOpen = false
			if !st.status.State.IsFinal() {
				st.closeStore(v)
			}
		})
	}
	if s.epoch != nil {
		s.epoch.end()
	}
	s.mu.Unlock()
	for i, st := range informers {
		st.announceChange(changes[i])
	}
}
