// Package streamstore has the objects of one kind: in a stream for each namespace, or in one for all. A stream is filled by
// its informer; the store tells event handlers, and lets readers and writers wait. Which streams there are to be, and
// whether they are open, is not its business.
package streamstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/scopedcache/eventqueue"
	"github.com/ambit-dev/ambit/pkg/scopedcache/kindsettings"
	"github.com/ambit-dev/ambit/pkg/scopedcache/readlog"
)

// Options are what a Store is made with.
type Options struct {
	// NamePrefix tells stores of one kind apart.
	NamePrefix string
	// DeleteOnLeave: event handlers are told of a Delete for what is dropped.
	DeleteOnLeave bool
	// Changed says that streams have changed. It is called with a lock held, and must neither block nor call the store.
	Changed func()
	// ReadChanged says that an object has changed which owners have read. It is called as Changed is.
	ReadChanged func(owners []readlog.Owner, name types.NamespacedName)
}

// Store is the streams of one kind in one flavor, by namespace, and who is told of events. It is safe for concurrent use.
type Store struct {
	*kindsettings.Kind
	options Options
	planned chan struct{} // closed once it is known which streams there are to be

	// mu guards what is below, and the state of streams. It is taken under the lock of an informer, and
	// nothing is called under it but Options and index functions.
	mu        sync.RWMutex
	streams   map[string]*Stream
	indexers  toolscache.Indexers // beside the one by namespace
	informer  *Informer           // nil until somebody asks for it
	listeners map[*eventqueue.Listener]struct{}
	reads     readlog.Log
	isPlanned bool
}

// New makes a store without streams.
func New(k *kindsettings.Kind, o Options) *Store {
	return &Store{
		Kind: k, options: o, planned: make(chan struct{}),
		streams: map[string]*Stream{}, indexers: toolscache.Indexers{}, listeners: map[*eventqueue.Listener]struct{}{},
	}
}

// storageName is that of its streams to package informer.
func (k *Store) storageName() string { return k.options.NamePrefix + k.Key.String() }

// newIndexer returns an empty store. mu is held.
func (k *Store) newIndexer() toolscache.Indexer {
	indexers := toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc}
	maps.Copy(indexers, k.indexers)
	return toolscache.NewIndexer(toolscache.DeletionHandlingMetaNamespaceKeyFunc, indexers)
}

// addIndexers adds indexes to all streams, now and later.
func (k *Store) addIndexers(more toolscache.Indexers) error {
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

// StopInformer ends the informer with its handlers and indexes. What handles need stays: a read that took the store of
// a stream before goes on with that.
func (k *Store) StopInformer() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.informer != nil {
		k.informer.stopped.Store(true)
		k.informer = nil
	}
	for l := range k.listeners {
		l.StopHandler()
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

// AddStream adds a stream that is not open yet.
func (k *Store) AddStream(s *Stream) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s.indexer = k.newIndexer()
	k.streams[s.Namespace] = s
}

// RemoveStream forgets a stream, whose informer is closed.
func (k *Store) RemoveStream(s *Stream) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if heir := k.heirLocked(s.Namespace); heir != nil && s.synced {
		heir.inheritLocked(s)
	}
	s.dropLocked(&Refusal{State: informer.Stopped})
	delete(k.streams, s.Namespace)
	k.settleLocked()
}

// heirLocked returns the stream of all namespaces that takes over one of them, or nil.
func (k *Store) heirLocked(namespace string) *Stream {
	heir := k.streams[metav1.NamespaceAll]
	if namespace == metav1.NamespaceAll || heir == nil || heir.synced || len(k.Namespaces) > 0 {
		return nil
	}
	return heir
}

// SetPlanned says that all streams are there that are to be, for now.
func (k *Store) SetPlanned() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.isPlanned {
		k.isPlanned = true
		close(k.planned)
	}
	k.settleLocked()
}

// settleLocked tells the informer once that every stream is synced or refused.
func (k *Store) settleLocked() {
	if k.informer == nil || k.informer.HasSynced() || !k.isAnsweredLocked() {
		return
	}
	close(k.informer.synced)
	k.notifyLocked(eventqueue.Event{Type: eventqueue.Settled})
}

// AllStreams returns the streams by namespace.
func (k *Store) AllStreams() []*Stream {
	k.mu.RLock()
	defer k.mu.RUnlock()
	list := make([]*Stream, 0, len(k.streams))
	for _, namespace := range slices.Sorted(maps.Keys(k.streams)) {
		list = append(list, k.streams[namespace])
	}
	return list
}

// StreamOf returns the stream that has the objects of a namespace, or nil. A namespace that has none of its
// own is in that of all namespaces.
func (k *Store) StreamOf(namespace string) *Stream {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if s, ok := k.streams[namespace]; ok {
		return s
	}
	return k.streams[""]
}

// WaitAnswered returns when every stream is synced or refused. The error is that of a wait that ended before.
func (k *Store) WaitAnswered(ctx context.Context) error {
	if err := k.WaitPlanned(ctx); err != nil {
		return err
	}
	for _, s := range k.AllStreams() {
		if _, _, err := s.AwaitObjects(ctx); err != nil {
			return err
		}
	}
	return nil
}

// SyncTimeout returns the error of a wait for objects that ended before they were there, in controller-runtime's words.
func (k *Store) SyncTimeout() error {
	return apierrors.NewTimeoutError(fmt.Sprintf("failed waiting for %T Informer to sync", k.Example), 0)
}

// WaitPlanned returns when it is known which streams there are.
func (k *Store) WaitPlanned(ctx context.Context) error {
	if !eventqueue.WaitClosed(ctx, k.planned) {
		return apierrors.NewTimeoutError(fmt.Sprintf("failed waiting for the namespaces of %T", k.Example), 0)
	}
	return nil
}

// notifyLocked puts an event into the queue of every listener, and tells the owners who have read the object. What a first
// list brings is told them as a change of the stream.
func (k *Store) notifyLocked(e eventqueue.Event) {
	for l := range k.listeners {
		l.PushValue(e)
	}
	if k.reads.IsEmpty() || e.Type == eventqueue.Settled || e.Initial {
		return
	}
	if owners, name := k.reads.OwnersOf(e.New, e.Old); len(owners) > 0 {
		k.options.ReadChanged(owners, name)
	}
}

// AddListener has a listener told of all objects that are there, and of events from now on.
func (k *Store) AddListener(l *eventqueue.Listener) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.listeners[l] = struct{}{}
	for _, s := range k.streams {
		for _, object := range s.indexer.List() {
			l.PushValue(eventqueue.Event{Type: eventqueue.Added, New: object, Initial: true})
		}
		for _, object := range s.inherited {
			l.PushValue(eventqueue.Event{Type: eventqueue.Added, New: object, Initial: true})
		}
	}
	if k.informer != nil && k.informer.HasSynced() {
		l.PushValue(eventqueue.Event{Type: eventqueue.Settled})
	}
}

func (k *Store) removeListener(l *eventqueue.Listener) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.listeners, l)
}

// AllListeners returns those who are told of events, in no order.
func (k *Store) AllListeners() []*eventqueue.Listener {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return slices.Collect(maps.Keys(k.listeners))
}

// objectsOf returns the objects of the streams that have a sync period; nil is all of them.
func (k *Store) objectsOf(period *time.Duration) (list []any) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	for _, s := range k.streams {
		if period == nil || syncPeriod(s.Config) == *period {
			list = append(list, s.indexer.List()...)
		}
	}
	return list
}

// RecordName records that a reader reads an object. A reader for nobody is not recorded.
func (k *Store) RecordName(reader *readlog.Reader, name types.NamespacedName) {
	k.changeReads(reader, func() { k.reads.AddName(reader, name) })
}

// RecordList is RecordName for a list.
func (k *Store) RecordList(reader *readlog.Reader, given client.ListOptions) {
	k.changeReads(reader, func() { k.reads.AddList(reader, given) })
}

// ForgetReads drops what a reader has read.
func (k *Store) ForgetReads(reader *readlog.Reader) {
	k.changeReads(reader, func() { k.reads.ForgetReader(reader) })
}

func (k *Store) changeReads(reader *readlog.Reader, do func()) {
	if !reader.IsOwner() {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	do()
}

// IsAnswered reports whether every stream is synced or refused.
func (k *Store) IsAnswered() bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.isAnsweredLocked()
}

func (k *Store) isAnsweredLocked() bool {
	for _, s := range k.streams {
		if !s.synced && s.refusal == nil {
			return false
		}
	}
	return k.isPlanned
}

// State is where a stream stands. It is a copy.
type State struct {
	informer.State
	Missing []access.Access // what is denied
	Since   time.Time       // of a refusal
}

// StreamStates returns the states of all streams by namespace.
func (k *Store) StreamStates() map[string]State {
	k.mu.RLock()
	defer k.mu.RUnlock()
	states := make(map[string]State, len(k.streams))
	for namespace, s := range k.streams {
		state := State{State: s.stateLocked()}
		if s.refusal != nil {
			state.Missing, state.Since = s.refusal.Missing, s.refusal.Since
		}
		states[namespace] = state
	}
	return states
}

// HasStream reports whether a namespace has a stream of its own.
func (k *Store) HasStream(namespace string) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	_, ok := k.streams[namespace]
	return ok
}
