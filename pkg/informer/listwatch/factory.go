// Package listwatch makes the list and watch requests of informers.
//
// A ListWatcher runs one client-go Reflector, for one epoch of an informer, and every
// request of the Reflector goes through it:
//
//   - It takes a slot before it opens a list or a watch, for a Factory lets only a few be
//     opened at a time.
//   - It reads every answer (Classify). A final one ends the epoch. A transient one is kept
//     from the Reflector and tried again in place, after a wait that grows with the failures
//     in a row, so that a watch resumes where it was, without a list.
//   - While the Factory reauthorizes, it asks for watches of 3 or 4 seconds: the API server
//     looks at rights when a watch is opened, never again. Watches that were opened for
//     longer, because they bring a list or are from before, it ends itself, never within a
//     second of their list. The Reflector takes both for timeouts and opens the next watch
//     where it was. All ends are planned with one schedule, which holds the ceiling.
//
// What the answers mean for the informer's state and store is decided by the Epoch that it
// tells of them.
package listwatch

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
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

// Source lists and watches the objects of an informer. Calls end when ctx does; a watch
// lives as long as ctx.
type Source interface {
	List(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
}

// DynamicSource makes a Source of whole objects.
func DynamicSource(client dynamic.ResourceInterface) Source { return dynamicSource{client} }

// MetadataSource makes a Source of the metadata of objects.
func MetadataSource(client metadata.ResourceInterface) Source { return metadataSource{client} }

type dynamicSource struct{ dynamic.ResourceInterface }

func (s dynamicSource) List(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	list, err := s.ResourceInterface.List(ctx, opts)
	if err != nil {
		return nil, err
	}
	return list, nil
}

type metadataSource struct{ metadata.ResourceInterface }

func (s metadataSource) List(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	list, err := s.ResourceInterface.List(ctx, opts)
	if err != nil {
		return nil, err
	}
	return list, nil
}
