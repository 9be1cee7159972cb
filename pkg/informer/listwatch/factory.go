package listwatch

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// Options are what all list-watchers of a process have in common. All are required.
type Options struct {
	// Clock is the time of everything here.
	Clock clock.WithDelayedExecution
	// Reconnect returns how long to wait after so many failures in a row, from 1. It is
	// called concurrently.
	Reconnect func(failures int) time.Duration
	// Jitter returns a duration from 0 to most, both included, at random. It is called
	// concurrently.
	Jitter func(most time.Duration) time.Duration
	// Opening is how many requests may be in the middle of being opened.
	Opening int
	// Reopens is how many watches are made to end in one second.
	Reopens int
	// OnRecovery is called when the API server answers again after it could not be
	// reached, at most once a second. It must not block.
	OnRecovery func()
}

// Factory makes list-watchers, and holds the bounds that they have together. It is safe for
// concurrent use.
type Factory struct {
	options        Options
	openSlots      semaphore
	reopenSchedule *reopenSchedule
	reauthorize    atomic.Bool
	reopened       atomic.Uint64
	outage         outage
}

// NewFactory makes a Factory that does not reauthorize.
func NewFactory(o Options) *Factory {
	return &Factory{options: o, openSlots: make(semaphore, o.Opening), reopenSchedule: &reopenSchedule{ceiling: o.Reopens, jitter: o.Jitter}}
}

// SetReauthorize turns on or off that watches last a few seconds, and reports whether that
// is new. Watches that are open learn of it by ListWatcher.LimitOpenWatch.
func (f *Factory) SetReauthorize(on bool) bool { return f.reauthorize.Swap(on) != on }

// Reopened returns how many watches were opened again where they were, without a list.
func (f *Factory) Reopened() uint64 { return f.reopened.Load() }

// PlannedEnds returns how many watches have an end that was planned and has not come.
func (f *Factory) PlannedEnds() int { return f.reopenSchedule.plannedEnds() }

// noteUnreachable notes that an attempt did not reach the API server.
func (f *Factory) noteUnreachable() { f.outage.active.Store(true) }

// noteReached is called for every answer of the API server. The first one after an
// outage is announced, at most once a second: if it comes too early for that, the next one
// is.
func (f *Factory) noteReached() {
	if f.outage.active.Load() && f.outage.end(f.options.Clock.Now()) {
		f.options.OnRecovery()
	}
}

// outage is whether the API server could not be reached.
type outage struct {
	active atomic.Bool // an attempt did not reach the API server, and no recovery was announced since

	mu            sync.Mutex
	lastAnnounced time.Time
}

// end reports whether the end of an outage is to be announced now.
func (o *outage) end(now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now.Sub(o.lastAnnounced) < time.Second || !o.active.CompareAndSwap(true, false) {
		return false
	}
	o.lastAnnounced = now
	return true
}

// semaphore bounds how many informers are in the middle of being opened: opening
// thousands at once makes thousands of connections. One element is one slot
// taken.
type semaphore chan struct{}

// acquire takes a slot; release gives it back and may be called more than once.
// The error is that of ctx.
func (s semaphore) acquire(ctx context.Context) (release func(), err error) {
	select {
	case s <- struct{}{}:
		return sync.OnceFunc(func() { <-s }), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
