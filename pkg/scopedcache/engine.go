package scopedcache

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
)

// engine has the kinds of a cache, and runs what they need. One goroutine arranges kinds whenever something
// has changed: which streams there are, and whether they are open.
type engine struct {
	settings   *settings
	informers  *informer.Set
	reviews    *access.Reviewer
	gate       *streamGate
	identity   *identity
	namespaces *namespaces
	subscribed *subscribers
	logger     logr.Logger
	started    chan struct{}             // closed when Start begins
	ended      chan struct{}             // closed when it ends
	onError    func(informer.WatchError) // set before informers run; nil if nobody is told
	dirty      *dirtyKinds               // that the goroutine is to arrange

	// mu guards what is below. It is held over no I/O and no call of a user.
	mu                 sync.RWMutex
	kinds              map[kindKey]*kind
	handles            map[Owner]*Handle // that are open
	running            sync.WaitGroup    // Add only under mu, while isRunning
	isBegun, isRunning bool
}

// connectEngine makes the engine of a cache, with the clients for reviews.
func connectEngine(s *settings) (*engine, error) {
	clients, err := kubernetes.NewForConfigAndClient(s.config, s.http)
	if err != nil {
		return nil, fmt.Errorf("making the client for access reviews: %w", err)
	}
	return newEngine(s, access.FromClient(clients.AuthorizationV1()), newIdentity(s.config, clients.AuthenticationV1()))
}

func newEngine(s *settings, reviews access.Reviews, who *identity) (*engine, error) {
	e := &engine{
		settings: s, logger: log.Log.WithName("scopedcache"),
		identity: who,
		reviews:  access.New(access.Options{Reviews: func(string) (access.Reviews, error) { return reviews, nil }}),
		started:  make(chan struct{}), ended: make(chan struct{}), dirty: newDirtyKinds(), subscribed: &subscribers{},
		kinds: map[kindKey]*kind{}, handles: map[Owner]*Handle{},
	}
	e.informers = informer.New(informer.Options{
		Clients: func(string) (dynamic.Interface, metadata.Interface, error) {
			return nil, nil, errors.New("every informer of a scoped cache has its own source") // never called
		},
		Reauthorize: !s.own.LongWatches, OnWatchError: e.reportError, Logger: e.logger.V(1),
	})
	e.gate = &streamGate{e.informers, e.reviews}
	var err error
	e.namespaces, err = newNamespaces(e)
	return e, err
}

// runAll runs everything until ctx ends.
func (e *engine) runAll(ctx context.Context) error {
	if err := e.beginRunning(ctx); err != nil {
		return err
	}
	var parts sync.WaitGroup
	var informersErr, reviewsErr error
	parts.Go(func() { informersErr = e.informers.Start(ctx) })
	parts.Go(func() { reviewsErr = e.reviews.Start(ctx) })
	for ctx.Err() == nil {
		e.arrangeDirty()
		select {
		case <-ctx.Done():
		case <-e.dirty.woken:
		}
	}
	e.endRunning()
	parts.Wait()
	e.running.Wait()
	return errors.Join(informersErr, reviewsErr)
}

// beginRunning starts what was asked for before.
func (e *engine) beginRunning(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.isBegun {
		return errors.New("informer already started")
	}
	e.isBegun, e.isRunning = true, true
	e.running.Go(func() { e.identity.ask(ctx) })
	if e.settings.own.Namespaces.rule == permittedNamespaces {
		e.identity.want()
	}
	if e.settings.onError != nil {
		e.onError = func(w informer.WatchError) {
			e.settings.onError(log.IntoContext(ctx, e.logger), reflectorOf(w.Key), w.Err)
		}
	}
	for _, k := range e.kinds {
		e.startListenersLocked(k)
	}
	if e.namespaces.kind != nil {
		e.startListenersLocked(e.namespaces.kind)
	}
	close(e.started)
	return nil
}

func (e *engine) startListenersLocked(k *kind) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	for l := range k.listeners {
		e.running.Go(func() { l.run(e.ended) })
	}
}

func (e *engine) endRunning() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.isRunning = false
	close(e.ended)
}

func (e *engine) hasEnded() bool { return isClosed(e.ended) }

// startListener adds a listener of a kind, unless its informer has stopped.
func (e *engine) startListener(i *sharedInformer, l *listener) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if i.IsStopped() {
		return false
	}
	i.kind.addListener(l)
	if e.isRunning {
		e.running.Go(func() { l.run(e.ended) })
	}
	return true
}

// requireKind makes a handle need a kind: in one namespace, or everywhere if namespace is nil. It returns the kind.
func (e *engine) requireKind(h *Handle, key kindKey, namespace *string) (*kind, error) {
	if k := e.requiredKind(h, key, namespace); k != nil {
		return k, nil
	}
	for {
		if err := e.ensureKind(key); err != nil {
			return nil, err
		}
		if k, err := e.addNeed(h, key, namespace); k != nil || err != nil {
			return k, err
		}
	}
}

// ensureKind makes a kind if there is none.
func (e *engine) ensureKind(key kindKey) error {
	if e.kindOf(key) != nil {
		return nil
	}
	made, err := e.newKind(key) // it may ask the API server
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ok := e.kinds[key]; !ok {
		e.kinds[key] = made
	}
	return nil
}

// addNeed makes a handle need a kind that is there. It returns nil if the kind has gone meanwhile.
func (e *engine) addNeed(h *Handle, key kindKey, namespace *string) (*kind, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	k := e.kinds[key]
	switch {
	case h.closed:
		if k != nil && len(k.needs) == 0 {
			delete(e.kinds, key)
		}
		return nil, fmt.Errorf("reading for %s: %w", h.owner, errClosed)
	case k == nil:
		return nil, nil
	}
	needed := k.needs[h]
	if needed == nil {
		needed = &need{namespaces: map[string]struct{}{}}
		k.needs[h] = needed
	}
	if namespace == nil || !e.isByNamespace(k) {
		needed.all = true
	} else {
		needed.namespaces[*namespace] = struct{}{}
	}
	e.arrangeLocked(k)
	return k, nil
}

// kindOf returns a kind that is needed, or nil.
func (e *engine) kindOf(key kindKey) *kind {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.kinds[key]
}

// requiredKind returns the kind if the handle needs it already.
func (e *engine) requiredKind(h *Handle, key kindKey, namespace *string) *kind {
	e.mu.RLock()
	defer e.mu.RUnlock()
	k := e.kinds[key]
	if k == nil {
		return nil
	}
	needed := k.needs[h]
	if needed == nil || !needed.all && (namespace == nil || !needed.covers(*namespace)) {
		return nil
	}
	return k
}

// releaseLocked makes a handle need a kind no more. The last one ends its streams.
func (e *engine) releaseLocked(h *Handle, k *kind) {
	delete(k.needs, h)
	k.forgetReads(h)
	e.arrangeLocked(k)
	if len(k.needs) == 0 {
		delete(e.kinds, k.key)
	}
}

// sharedInformerOf returns the informer of a kind, which is needed everywhere.
func (e *engine) sharedInformerOf(h *Handle, key kindKey) (*sharedInformer, error) {
	for {
		k, err := e.requireKind(h, key, nil)
		if err != nil {
			return nil, err
		}
		if i := e.informerOf(k); i != nil {
			return i, nil
		}
	}
}

// informerOf returns the informer of a kind, nil if the kind has gone.
func (e *engine) informerOf(k *kind) *sharedInformer {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.kinds[k.key] != k {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.informer == nil {
		k.informer = &sharedInformer{engine: e, kind: k, synced: make(chan struct{})}
		k.settleLocked()
	}
	return k.informer
}

// removeInformer stops the informer of a kind, and what the root handle needs of it.
func (e *engine) removeInformer(root *Handle, key kindKey) {
	e.mu.Lock()
	defer e.mu.Unlock()
	k := e.kinds[key]
	if k == nil {
		return
	}
	k.stopInformer()
	e.releaseLocked(root, k)
}

// allKinds returns the kinds that are needed, in no order.
func (e *engine) allKinds() []*kind {
	e.mu.RLock()
	defer e.mu.RUnlock()
	list := make([]*kind, 0, len(e.kinds))
	for _, k := range e.kinds {
		list = append(list, k)
	}
	return list
}

// reportError passes an error of a list or a watch on to the handler of cache.Options.
func (e *engine) reportError(w informer.WatchError) {
	if e.onError != nil {
		e.onError(w)
	}
}

// reflectorOf returns a Reflector that never runs, for handlers that want the name of one.
func reflectorOf(key informer.Key) *toolscache.Reflector {
	return toolscache.NewReflectorWithOptions(&toolscache.ListWatch{}, nil, nil, toolscache.ReflectorOptions{
		Name: "scopedcache", TypeDescription: key.GVR.GroupResource().String(),
	})
}
