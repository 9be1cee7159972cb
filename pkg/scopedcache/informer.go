package scopedcache

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// sharedInformer is the cache.Informer of a kind, over all its namespaces. Whoever asks for that of a kind gets the
// same one, until RemoveInformer.
type sharedInformer struct {
	engine  *engine
	kind    *kind
	synced  chan struct{} // closed when every stream was synced or refused
	stopped atomic.Bool
}

var (
	_ cache.Informer         = &sharedInformer{}
	_ toolscache.DoneChecker = &sharedInformer{}
)

var errStopped = errors.New("the informer has stopped already")

// AddEventHandler implements cache.Informer.
func (i *sharedInformer) AddEventHandler(handler toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(handler, toolscache.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod implements cache.Informer.
func (i *sharedInformer) AddEventHandlerWithResyncPeriod(handler toolscache.ResourceEventHandler, resync time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(handler, toolscache.HandlerOptions{ResyncPeriod: &resync})
}

// minimumResync is how often a handler may be told of every object.
const minimumResync = time.Second

// AddEventHandlerWithOptions implements cache.Informer.
func (i *sharedInformer) AddEventHandlerWithOptions(handler toolscache.ResourceEventHandler, options toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	resync := ptr.Deref(options.ResyncPeriod, ptr.Deref(i.kind.config.everywhere.SyncPeriod, defaultSyncPeriod))
	if resync > 0 {
		resync = max(resync, minimumResync)
	}
	l := newListener(i.kind, handler, resync)
	if !i.engine.startListener(i, l) {
		return nil, fmt.Errorf("adding a handler of %s: %w", i.kind.storageName(), errStopped)
	}
	return l, nil
}

// RemoveEventHandler implements cache.Informer.
func (i *sharedInformer) RemoveEventHandler(registration toolscache.ResourceEventHandlerRegistration) error {
	l, ok := registration.(*listener)
	if !ok || l.kind != i.kind {
		return fmt.Errorf("removing a handler of %s: it is one of somebody else", i.kind.storageName())
	}
	i.kind.removeListener(l)
	l.stop()
	return nil
}

// AddIndexers implements cache.Informer.
func (i *sharedInformer) AddIndexers(indexers toolscache.Indexers) error {
	if i.IsStopped() {
		return fmt.Errorf("adding an index of %s: %w", i.kind.storageName(), errStopped)
	}
	return i.kind.addIndexers(indexers)
}

func (i *sharedInformer) isSynced() bool { return isClosed(i.synced) }

// HasSynced implements cache.Informer: every stream was synced or refused.
func (i *sharedInformer) HasSynced() bool { return i.isSynced() }

// HasSyncedChecker implements cache.Informer.
func (i *sharedInformer) HasSyncedChecker() toolscache.DoneChecker { return i }

// Name implements toolscache.DoneChecker.
func (i *sharedInformer) Name() string { return "informer of " + i.kind.storageName() }

// Done implements toolscache.DoneChecker.
func (i *sharedInformer) Done() <-chan struct{} { return i.synced }

// IsStopped implements cache.Informer.
func (i *sharedInformer) IsStopped() bool { return i.stopped.Load() || i.engine.hasEnded() }
