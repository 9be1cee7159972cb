// Package kindregistry has the kinds that are needed of a cache, by whom, and gives each the streams that it is to have.
//
// One goroutine, that of RunAll, arranges kinds whenever streams, rights or namespaces have changed, and tells of that. Those
// who need something arrange it by themselves, so that reads follow at once.
package kindregistry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/scopedcache/eventqueue"
	"github.com/ambit-dev/ambit/pkg/scopedcache/kindsettings"
	"github.com/ambit-dev/ambit/pkg/scopedcache/readlog"
	"github.com/ambit-dev/ambit/pkg/scopedcache/streamgate"
	"github.com/ambit-dev/ambit/pkg/scopedcache/streamlayout"
	"github.com/ambit-dev/ambit/pkg/scopedcache/streamstore"
)

// Options are the inputs of a Registry. All are required.
type Options struct {
	Settings   *kindsettings.Settings
	Namespaces streamlayout.Namespaces
	// DeleteOnLeave is that of streamstore.Options.
	DeleteOnLeave bool
	// Informers and Reviews are started and stopped by the caller.
	Informers *informer.Set
	Reviews   *access.Reviewer
	// OnNews is told of a stream that was refused, and of one that is back, by the goroutine of RunAll.
	OnNews func(Change)
}

// Registry has the kinds of a cache. It is safe for concurrent use; RunAll may be called once.
type Registry struct {
	options    Options
	namespaces *namespaces
	subscribed *subscribers
	dirty      *dirtyKinds   // that the goroutine is to arrange
	started    chan struct{} // closed when RunAll begins
	ended      chan struct{} // closed when it ends

	// mu guards what is below, and gate. It is held over no I/O and no call of a user.
	mu                 sync.RWMutex
	gate               *streamgate.Gate
	kinds              map[kindsettings.Key]*kind
	running            sync.WaitGroup // Add only under mu, while isRunning
	isBegun, isRunning bool
}

// kind is one kind in one flavor, and who needs it. The registry's mu guards it, but for the store.
type kind struct {
	*streamstore.Store
	needs map[*Holder]*streamlayout.Need
	// everywhere is never open: it has what may be watched in all namespaces reviewed. Nil unless rights decide.
	everywhere *streamstore.Stream
	told       map[string]streamstore.State // by namespace, what was told last
}

// Holder is who needs kinds: an owner's handle, or the cache itself. They are told apart by their address.
type Holder struct {
	readlog.Reader
	closed bool // guarded by the registry's mu
}

// New makes a Registry. It starts nothing, and may ask the API server for the kind of namespaces.
func New(o Options) (*Registry, error) {
	r := &Registry{
		options: o, subscribed: &subscribers{}, dirty: newDirtyKinds(),
		started: make(chan struct{}), ended: make(chan struct{}), gate: streamgate.New(o.Informers, o.Reviews),
		kinds: map[kindsettings.Key]*kind{},
	}
	var err error
	r.namespaces, err = newNamespaces(r)
	return r, err
}

// RunAll arranges kinds until ctx ends, and runs what is needed for that beside it. It returns when all of that and all
// listeners have ended.
func (r *Registry) RunAll(ctx context.Context, beside ...func(context.Context) error) error {
	if err := r.beginRunning(); err != nil {
		return err
	}
	var parts sync.WaitGroup
	errs := make([]error, len(beside))
	for i, part := range beside {
		parts.Go(func() { errs[i] = part(ctx) })
	}
	for ctx.Err() == nil {
		r.arrangeDirty()
		select {
		case <-ctx.Done():
		case <-r.dirty.woken:
		}
	}
	r.endRunning()
	parts.Wait()
	r.running.Wait()
	return errors.Join(errs...)
}

func (r *Registry) endRunning() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isRunning = false
	close(r.ended)
}

// beginRunning starts what was asked for before.
func (r *Registry) beginRunning() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isBegun {
		return errors.New("informer already started")
	}
	r.isBegun, r.isRunning = true, true
	for _, k := range r.watchedLocked() {
		for _, l := range k.AllListeners() {
			r.running.Go(func() { l.RunHandler(r.ended) })
		}
	}
	close(r.started)
	return nil
}

// BeganRunning is closed when RunAll begins.
func (r *Registry) BeganRunning() <-chan struct{} { return r.started }

// EndedRunning implements streamstore.Runner: it is closed when RunAll ends.
func (r *Registry) EndedRunning() <-chan struct{} { return r.ended }

// StartListener implements streamstore.Runner.
func (r *Registry) StartListener(i *streamstore.Informer, l *eventqueue.Listener) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i.IsStopped() {
		return false
	}
	i.Store().AddListener(l)
	if r.isRunning {
		r.running.Go(func() { l.RunHandler(r.ended) })
	}
	return true
}

func (r *Registry) newKind(key kindsettings.Key, namePrefix string) (*kind, error) {
	known, err := r.options.Settings.NewKind(key)
	if err != nil {
		return nil, err
	}
	k := &kind{needs: map[*Holder]*streamlayout.Need{}, told: map[string]streamstore.State{}}
	k.Store = streamstore.New(known, streamstore.Options{
		NamePrefix: namePrefix, DeleteOnLeave: r.options.DeleteOnLeave,
		Changed: func() { r.dirty.addKind(k) },
		ReadChanged: func(owners []readlog.Owner, name types.NamespacedName) {
			r.subscribed.tellRead(Change{GVK: key.GVK, Namespace: name.Namespace, State: informer.Live, Object: name, Owners: owners})
		},
	})
	return k, nil
}

// RequireKind makes a holder need a kind: in one namespace, or everywhere if namespace is nil. It returns its store. It may
// ask the API server.
func (r *Registry) RequireKind(h *Holder, key kindsettings.Key, namespace *string) (*streamstore.Store, error) {
	if k := r.requiredKind(h, key, namespace); k != nil {
		return k.Store, nil
	}
	for {
		if err := r.ensureKind(key); err != nil {
			return nil, err
		}
		if k, err := r.addNeed(h, key, namespace); k != nil || err != nil {
			return k, err
		}
	}
}

// ensureKind makes a kind if there is none.
func (r *Registry) ensureKind(key kindsettings.Key) error {
	if r.kindOf(key) != nil {
		return nil
	}
	made, err := r.newKind(key, "")
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.kinds[key]; !ok {
		r.kinds[key] = made
	}
	return nil
}

// addNeed makes a holder need a kind that is there. It returns nil if the kind has gone meanwhile.
func (r *Registry) addNeed(h *Holder, key kindsettings.Key, namespace *string) (*streamstore.Store, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.kinds[key]
	switch {
	case h.closed:
		if k != nil && len(k.needs) == 0 {
			delete(r.kinds, key)
		}
		return nil, fmt.Errorf("reading for %s: its handle is closed", h.Owner)
	case k == nil:
		return nil, nil
	}
	needed := k.needs[h]
	if needed == nil {
		needed = &streamlayout.Need{Namespaces: map[string]struct{}{}, IsOwned: h.IsOwner()}
		k.needs[h] = needed
	}
	if namespace == nil || !streamlayout.IsByNamespace(k.Kind, r.options.Namespaces.Rule) {
		needed.All = true
	} else {
		needed.Namespaces[*namespace] = struct{}{}
	}
	r.arrangeLocked(k)
	return k.Store, nil
}

func (r *Registry) kindOf(key kindsettings.Key) *kind {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.kinds[key]
}

// StoreOf returns the store of a kind that is needed, or nil.
func (r *Registry) StoreOf(key kindsettings.Key) *streamstore.Store {
	if k := r.kindOf(key); k != nil {
		return k.Store
	}
	return nil
}

// requiredKind returns the kind if the holder needs it already.
func (r *Registry) requiredKind(h *Holder, key kindsettings.Key, namespace *string) *kind {
	r.mu.RLock()
	defer r.mu.RUnlock()
	k := r.kinds[key]
	if k == nil {
		return nil
	}
	needed := k.needs[h]
	if needed == nil || !needed.All && (namespace == nil || !needed.CoversNamespace(*namespace)) {
		return nil
	}
	return k
}

// releaseLocked makes a holder need a kind no more. The last one ends its streams.
func (r *Registry) releaseLocked(h *Holder, k *kind) {
	delete(k.needs, h)
	k.ForgetReads(&h.Reader)
	r.arrangeLocked(k)
	if len(k.needs) == 0 {
		delete(r.kinds, k.Key)
	}
}

// InformerOf returns the informer of a kind, which the holder needs everywhere from now on.
func (r *Registry) InformerOf(h *Holder, key kindsettings.Key) (*streamstore.Informer, error) {
	for {
		store, err := r.RequireKind(h, key, nil)
		if err != nil {
			return nil, err
		}
		r.mu.Lock()
		if k := r.kinds[key]; k != nil && k.Store == store {
			defer r.mu.Unlock()
			return store.SharedInformer(r), nil
		}
		r.mu.Unlock() // it has gone meanwhile
	}
}

// RemoveInformer stops the informer of a kind, and what a holder needs of it.
func (r *Registry) RemoveInformer(h *Holder, key kindsettings.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k := r.kinds[key]; k != nil {
		k.StopInformer()
		r.releaseLocked(h, k)
	}
}

// CloseHolder gives back all that a holder needs. It may be called more than once.
func (r *Registry) CloseHolder(h *Holder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h.closed = true
	for _, k := range r.kinds {
		if _, ok := k.needs[h]; ok {
			r.releaseLocked(h, k)
		}
	}
}

// SettledStreams returns all streams of a kind, and not some of those that are being replaced.
func (r *Registry) SettledStreams(k *streamstore.Store) []*streamstore.Stream {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return k.AllStreams()
}

// NeededStores returns the stores of the kinds that are needed, in no order.
func (r *Registry) NeededStores() []*streamstore.Store {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return storesOf(slices.Collect(maps.Values(r.kinds)))
}

// WatchedStores is NeededStores, with that of namespaces if it is watched.
func (r *Registry) WatchedStores() []*streamstore.Store {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return storesOf(r.watchedLocked())
}

func (r *Registry) watchedLocked() []*kind {
	kinds := slices.Collect(maps.Values(r.kinds))
	if r.namespaces.kind != nil {
		kinds = append(kinds, r.namespaces.kind)
	}
	return kinds
}

func storesOf(kinds []*kind) []*streamstore.Store {
	list := make([]*streamstore.Store, len(kinds))
	for i, k := range kinds {
		list[i] = k.Store
	}
	return list
}
