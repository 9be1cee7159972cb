package scopedcache

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/ambit-dev/ambit/pkg/informer"
)

// kind is one kind in one flavor: its streams by namespace, who needs them, and who is told of events.
type kind struct {
	key      kindKey
	settings *settings
	identity *identity
	mapping  *meta.RESTMapping
	config   kindSettings
	example  runtime.Object
	// storagePrefix tells kinds with one key apart: that of the cache's own namespaces has one.
	storagePrefix string
	// changed says that streams have changed. It is called with mu held, and does not block.
	changed func(*kind)
	// readChanged is told what handles have read and what has changed since. It is called with mu held.
	readChanged func(Change)
	planned     chan struct{} // closed once it is known which streams there are to be

	// The engine's mu guards what is below.
	needs map[*Handle]*need
	// everywhere is never open: it has what may be watched in all namespaces reviewed. Nil unless rights decide.
	everywhere *stream

	// mu guards what is below, and the state of streams. It is taken under the lock of an informer or of the
	// engine, and nothing is called under it but index functions.
	mu        sync.RWMutex
	streams   map[string]*stream
	indexers  toolscache.Indexers // beside the one by namespace
	informer  *sharedInformer     // nil until somebody asks for it
	listeners map[*listener]struct{}
	reads     reads
	isPlanned bool
	told      map[string]toldState // by namespace, what was told last; the engine's mu guards it
}

// need is what a handle needs of a kind: some namespaces, or all.
type need struct {
	all        bool
	namespaces map[string]struct{}
}

func (n *need) covers(namespace string) bool {
	if n == nil {
		return false
	}
	_, ok := n.namespaces[namespace]
	return ok || n.all
}

func (e *engine) newKind(key kindKey) (*kind, error) {
	s := e.settings
	mapping, err := s.mapper.RESTMapping(key.GVK.GroupKind(), key.GVK.Version)
	if err != nil {
		return nil, err
	}
	example, err := key.newObject(s)
	if err != nil {
		return nil, err
	}
	k := &kind{
		key: key, settings: s, identity: e.identity, mapping: mapping, config: s.kindSettings(key.GVK), example: example,
		changed: e.dirty.add, readChanged: e.subscribed.tellRead,
		planned: make(chan struct{}), needs: map[*Handle]*need{},
		streams: map[string]*stream{}, indexers: toolscache.Indexers{}, listeners: map[*listener]struct{}{}, told: map[string]toldState{},
	}
	_, err = s.connect(key, mapping, "") // a kind that cannot be decoded is an error now
	return k, err
}

func (k *kind) isNamespaced() bool { return k.mapping.Scope.Name() == meta.RESTScopeNameNamespace }

// storageName is that of its streams to package informer.
func (k *kind) storageName() string {
	return k.storagePrefix + string(k.key.flavor) + " " + k.key.GVK.String()
}

// newIndexer returns an empty store. mu is held.
func (k *kind) newIndexer() toolscache.Indexer {
	indexers := toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc}
	maps.Copy(indexers, k.indexers)
	return toolscache.NewIndexer(toolscache.DeletionHandlingMetaNamespaceKeyFunc, indexers)
}

// addIndexers adds indexes to all streams, now and later.
func (k *kind) addIndexers(more toolscache.Indexers) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for name := range more {
		if _, ok := k.indexers[name]; ok || name == toolscache.NamespaceIndex {
			return fmt.Errorf("indexer conflict: %v", name)
		}
	}
	for _, s := range k.streams {
		if err := s.indexer.AddIndexers(more); err != nil {
			return err
		}
	}
	maps.Copy(k.indexers, more)
	return nil
}

// stopInformer ends the informer with its handlers and indexes. What handles need stays: a read that took the store of
// a stream before goes on with that.
func (k *kind) stopInformer() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.informer != nil {
		k.informer.stopped.Store(true)
		k.informer = nil
	}
	for l := range k.listeners {
		l.stop()
		delete(k.listeners, l)
	}
	if len(k.indexers) == 0 {
		return
	}
	k.indexers = toolscache.Indexers{}
	for _, s := range k.streams {
		objects := s.indexer.List()
		s.indexer = k.newIndexer()
		for _, object := range objects {
			_ = s.indexer.Add(object) // it has a key: it was there
		}
	}
}

// addStream adds a stream that is not open yet.
func (k *kind) addStream(s *stream) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s.indexer = k.newIndexer()
	k.streams[s.namespace] = s
}

// removeStream forgets a stream, whose informer is closed.
func (k *kind) removeStream(s *stream) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if heir := k.heirLocked(s.namespace); heir != nil && s.synced {
		heir.inheritLocked(s)
	}
	s.dropLocked(&refusal{state: informer.Stopped})
	delete(k.streams, s.namespace)
	k.settleLocked()
}

// heirLocked returns the stream of all namespaces that takes over one of them, or nil.
func (k *kind) heirLocked(namespace string) *stream {
	heir := k.streams[metav1.NamespaceAll]
	if namespace == metav1.NamespaceAll || heir == nil || heir.synced || len(k.config.namespaces) > 0 {
		return nil
	}
	return heir
}

// setPlanned says that all streams are there that are to be, for now.
func (k *kind) setPlanned() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.isPlanned {
		k.isPlanned = true
		close(k.planned)
	}
	k.settleLocked()
}

// settleLocked tells the informer once that every stream is synced or refused.
func (k *kind) settleLocked() {
	if k.informer == nil || k.informer.isSynced() || !k.isAnsweredLocked() {
		return
	}
	close(k.informer.synced)
	k.notifyLocked(notification{kind: settled})
}

// allStreams returns the streams by namespace.
func (k *kind) allStreams() []*stream {
	k.mu.RLock()
	defer k.mu.RUnlock()
	list := make([]*stream, 0, len(k.streams))
	for _, namespace := range slices.Sorted(maps.Keys(k.streams)) {
		list = append(list, k.streams[namespace])
	}
	return list
}

// streamOf returns the stream that has the objects of a namespace, or nil. A namespace that has none of its
// own is in that of all namespaces.
func (k *kind) streamOf(namespace string) *stream {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if s, ok := k.streams[namespace]; ok {
		return s
	}
	return k.streams[""]
}

// waitAnswered returns when every stream is synced or refused. The error is that of a wait that ended before.
func (k *kind) waitAnswered(ctx context.Context) error {
	if err := k.waitPlanned(ctx); err != nil {
		return err
	}
	for _, s := range k.allStreams() {
		if _, err := s.awaitObjects(ctx); err != nil && ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// waitPlanned returns when it is known which streams there are.
func (k *kind) waitPlanned(ctx context.Context) error {
	if !waitClosed(ctx, k.planned) {
		return apierrors.NewTimeoutError(fmt.Sprintf("failed waiting for the namespaces of %T", k.example), 0)
	}
	return nil
}

// notifyLocked puts an event into the queue of every listener.
func (k *kind) notifyLocked(n notification) {
	for l := range k.listeners {
		l.push(n)
	}
	k.tellReadersLocked(n)
}

// addListener has a listener told of all objects that are there, and of events from now on.
func (k *kind) addListener(l *listener) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.listeners[l] = struct{}{}
	for _, s := range k.streams {
		for _, object := range s.indexer.List() {
			l.push(notification{kind: added, new: object, initial: true})
		}
		for _, object := range s.inherited {
			l.push(notification{kind: added, new: object, initial: true})
		}
	}
	if k.informer.isSynced() {
		l.push(notification{kind: settled})
	}
}

func (k *kind) removeListener(l *listener) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.listeners, l)
}
