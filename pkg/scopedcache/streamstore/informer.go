package streamstore

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/ambit-dev/ambit/pkg/scopedcache/eventqueue"
	"github.com/ambit-dev/ambit/pkg/scopedcache/kindsettings"
)

// Runner runs the listeners of informers.
type Runner interface {
	// StartListener has a listener told of everything, unless its informer has stopped. It reports whether it has not.
	StartListener(*Informer, *eventqueue.Listener) bool
	// EndedRunning is closed when nothing is run any more.
	EndedRunning() <-chan struct{}
}

// Informer is the cache.Informer of a kind, over all its namespaces. Whoever asks for that of a kind gets the
// same one, until it is removed.
type Informer struct {
	store   *Store
	runner  Runner
	synced  chan struct{} // closed when every stream was synced or refused
	stopped atomic.Bool
}

var (
	_ cache.Informer         = &Informer{}
	_ toolscache.DoneChecker = &Informer{}
)

// SharedInformer returns the informer of the kind.
func (k *Store) SharedInformer(runner Runner) *Informer {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.informer == nil {
		k.informer = &Informer{store: k, runner: runner, synced: make(chan struct{})}
		k.settleLocked()
	}
	return k.informer
}

// registration is that of a handler.
type registration struct {
	*eventqueue.Listener
	of *Store
}

var errStopped = errors.New("the informer has stopped already")

// Store returns the store whose informer it is.
func (i *Informer) Store() *Store { return i.store }

// AddEventHandler implements cache.Informer.
func (i *Informer) AddEventHandler(handler toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(handler, toolscache.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod implements cache.Informer.
func (i *Informer) AddEventHandlerWithResyncPeriod(handler toolscache.ResourceEventHandler, resync time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(handler, toolscache.HandlerOptions{ResyncPeriod: &resync})
}

// minimumResync is how often a handler may be told of every object.
const minimumResync = time.Second

// AddEventHandlerWithOptions implements cache.Informer.
func (i *Informer) AddEventHandlerWithOptions(handler toolscache.ResourceEventHandler, options toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	l := eventqueue.NewListener("handler of "+i.store.storageName(), handler, i.store.handlerResyncs(options.ResyncPeriod)...)
	if !i.runner.StartListener(i, l) {
		return nil, fmt.Errorf("adding a handler of %s: %w", i.store.storageName(), errStopped)
	}
	return registration{l, i.store}, nil
}

// handlerResyncs returns of which objects a handler is told again, and how often: as it has asked, or as each namespace is
// configured.
func (k *Store) handlerResyncs(asked *time.Duration) (list []eventqueue.Resync) {
	if asked != nil {
		return []eventqueue.Resync{{Period: atLeast(*asked), Objects: func() []any { return k.objectsOf(nil) }}}
	}
	configs := slices.Collect(maps.Values(k.Namespaces))
	if len(configs) == 0 || !k.IsNamespaced() {
		configs = []cache.Config{k.Everywhere}
	}
	for _, config := range configs {
		period := syncPeriod(config)
		if !slices.ContainsFunc(list, func(r eventqueue.Resync) bool { return r.Period == period }) {
			list = append(list, eventqueue.Resync{Period: period, Objects: func() []any { return k.objectsOf(&period) }})
		}
	}
	return list
}

func syncPeriod(config cache.Config) time.Duration {
	return atLeast(ptr.Deref(config.SyncPeriod, kindsettings.DefaultSyncPeriod))
}

// atLeast returns a period that is not too short; 0 is never.
func atLeast(period time.Duration) time.Duration {
	if period <= 0 {
		return 0
	}
	return max(period, minimumResync)
}

// RemoveEventHandler implements cache.Informer.
func (i *Informer) RemoveEventHandler(registered toolscache.ResourceEventHandlerRegistration) error {
	r, ok := registered.(registration)
	if !ok || r.of != i.store {
		return fmt.Errorf("removing a handler of %s: it is one of somebody else", i.store.storageName())
	}
	i.store.removeListener(r.Listener)
	r.StopHandler()
	return nil
}

// AddIndexers implements cache.Informer.
func (i *Informer) AddIndexers(indexers toolscache.Indexers) error {
	if i.IsStopped() {
		return fmt.Errorf("adding an index of %s: %w", i.store.storageName(), errStopped)
	}
	return i.store.addIndexers(indexers)
}

func (i *Informer) isSynced() bool { return eventqueue.IsClosed(i.synced) }

// HasSynced implements cache.Informer: every stream was synced or refused.
func (i *Informer) HasSynced() bool { return i.isSynced() }

// HasSyncedChecker implements cache.Informer.
func (i *Informer) HasSyncedChecker() toolscache.DoneChecker { return i }

// Name implements toolscache.DoneChecker.
func (i *Informer) Name() string { return "informer of " + i.store.storageName() }

// Done implements toolscache.DoneChecker.
func (i *Informer) Done() <-chan struct{} { return i.synced }

// IsStopped implements cache.Informer.
func (i *Informer) IsStopped() bool {
	return i.stopped.Load() || eventqueue.IsClosed(i.runner.EndedRunning())
}
