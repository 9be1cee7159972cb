package streamstore

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/informer/objectstore"
	"github.com/ambit-dev/ambit/pkg/scopedcache/eventqueue"
	"github.com/ambit-dev/ambit/pkg/scopedcache/kindsettings"
)

// Stream has the objects of a kind in one namespace, or in all of them. Its informer fills it by storage.go.
type Stream struct {
	// Namespace is where its objects are; "" is all namespaces that have no stream of their own, or none. RequestNamespace
	// is that of its requests, which a field selector may narrow. Nothing here may be changed.
	Namespace, RequestNamespace string
	Config                      cache.Config
	// IsReviewed: it is opened only where a review allows that, and a denial is nothing that a list over all
	// namespaces tells of.
	IsReviewed bool
	Kind       *kindsettings.Kind

	store    *Store
	key      informer.Key
	selector objectstore.Selector // of key

	// The store's mu guards what is below.
	indexer toolscache.Indexer // nil until the stream is added to the store
	// inherited are objects that event handlers were told of by streams that this one takes over, until its first list.
	inherited map[string]any
	synced    bool          // the first list is in
	refusal   *Refusal      // why there are no objects; nil while it is not refused
	doubted   bool          // the API server has denied it, and nobody has taken the doubt
	degraded  bool          // the objects may be stale
	answered  chan struct{} // closed while synced or refused
	progress  string        // the resourceVersion that it has come to
	advanced  chan struct{} // closed at the next change of what is above; nil if nobody waits
}

// NewStream makes a stream that is not in the store yet: see AddStream.
func (k *Store) NewStream(namespace string, config cache.Config, reviewed bool) *Stream {
	s := &Stream{
		Kind: k.Kind, store: k, Namespace: namespace, RequestNamespace: namespace, Config: config, IsReviewed: reviewed,
		answered: make(chan struct{}),
	}
	s.key = informer.Key{GVR: k.Mapping.Resource, Form: informer.Form{
		Storage: k.storageName(), Metadata: k.Flavor == kindsettings.Metadata,
	}}
	if config.LabelSelector != nil {
		s.key.LabelSelector = config.LabelSelector.String()
	}
	if config.FieldSelector != nil {
		s.key.FieldSelector = config.FieldSelector.String()
		if only, found := config.FieldSelector.RequiresExactMatch("metadata.namespace"); found && namespace == "" && k.IsNamespaced() {
			s.RequestNamespace = only
		}
	}
	s.key.Namespace = s.RequestNamespace
	s.selector = objectstore.NewSelector(s.RequestNamespace, s.key.LabelSelector, s.key.FieldSelector)
	return s
}

// InformerHandler returns what is told how the informer is.
func (s *Stream) InformerHandler() informer.EventHandler { return storage{s} }

// InformerInterest returns the informer that it is to have.
func (s *Stream) InformerInterest() informer.Interest {
	return informer.Interest{Key: s.key, Storage: storage{s}}
}

// ReadAccesses returns what it takes to watch.
func (s *Stream) ReadAccesses() []access.Access {
	return []access.Access{s.accessTo("list"), s.accessTo("watch")}
}

func (s *Stream) accessTo(verb string) access.Access {
	return access.Access{Verb: verb, Group: s.key.GVR.Group, Resource: s.key.GVR.Resource}
}

func (s *Stream) putLocked(object any, initial bool) error {
	old, existed, err := s.indexer.Get(object)
	if err != nil {
		return err
	}
	if err := s.indexer.Update(object); err != nil {
		return err
	}
	s.advanceLocked()
	switch {
	case !existed:
		s.store.notifyLocked(eventqueue.Event{Type: eventqueue.Added, New: object, Initial: initial})
	case versionOf(old) != versionOf(object):
		s.store.notifyLocked(eventqueue.Event{Type: eventqueue.Updated, Old: old, New: object})
	}
	return nil
}

func (s *Stream) replaceLocked(list []any) error {
	if !s.synced {
		if err := s.indexer.Replace(list, ""); err != nil {
			return err
		}
		return s.tellListLocked(list)
	}
	listed := make(map[string]struct{}, len(list))
	for _, object := range list {
		name, err := toolscache.MetaNamespaceKeyFunc(object)
		if err != nil {
			return err
		}
		listed[name] = struct{}{}
		if err := s.putLocked(object, false); err != nil {
			return err
		}
	}
	for _, name := range s.indexer.ListKeys() {
		if _, ok := listed[name]; !ok {
			s.forgetLocked(name)
		}
	}
	return nil
}

// forgetLocked removes an object of which the API server has not said that it was deleted.
func (s *Stream) forgetLocked(name string) {
	old, existed, err := s.indexer.GetByKey(name)
	if err != nil || !existed {
		return
	}
	_ = s.indexer.Delete(old) // it has a key: it was found by it
	s.store.notifyLocked(eventqueue.Event{Type: eventqueue.Deleted, Old: toolscache.DeletedFinalStateUnknown{Key: name, Obj: old}})
}

// DenyReviewed records that a review denies what it takes to watch. No informer is open.
func (s *Stream) DenyReviewed(missing []access.Access, now time.Time) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	r := &Refusal{State: informer.Forbidden, Since: now, Missing: missing, reviewed: true}
	if before := s.refusal; before.IsDenied() {
		if before.reviewed && slices.Equal(before.Missing, missing) {
			return
		}
		r.Since, r.Err, r.Identity = before.Since, before.Err, before.Identity
	}
	s.dropLocked(r)
}

// tellListLocked tells of a first list. Event handlers know what was inherited.
func (s *Stream) tellListLocked(list []any) error {
	for _, object := range list {
		name, err := toolscache.MetaNamespaceKeyFunc(object)
		if err != nil {
			return err
		}
		old, known := s.inherited[name]
		delete(s.inherited, name)
		switch {
		case !known:
			s.store.notifyLocked(eventqueue.Event{Type: eventqueue.Added, New: object, Initial: true})
		case versionOf(old) != versionOf(object):
			s.store.notifyLocked(eventqueue.Event{Type: eventqueue.Updated, Old: old, New: object})
		}
	}
	s.disinheritLocked(true)
	return nil
}

// inheritLocked takes over what event handlers were told of another stream, which ends.
func (s *Stream) inheritLocked(from *Stream) {
	if s.inherited == nil {
		s.inherited = map[string]any{}
	}
	for _, object := range from.indexer.List() {
		if name, err := toolscache.MetaNamespaceKeyFunc(object); err == nil {
			s.inherited[name] = object
		}
	}
	from.indexer = s.store.newIndexer()
}

// disinheritLocked forgets what was inherited, and may tell of a Delete for each.
func (s *Stream) disinheritLocked(told bool) {
	for _, name := range slices.Sorted(maps.Keys(s.inherited)) {
		if told {
			s.store.notifyLocked(eventqueue.Event{Type: eventqueue.Deleted, Old: toolscache.DeletedFinalStateUnknown{Key: name, Obj: s.inherited[name]}})
		}
	}
	s.inherited = nil
}

// dropLocked forgets all objects. Without a refusal the stream is being opened again.
func (s *Stream) dropLocked(r *Refusal) {
	told := s.store.options.DeleteOnLeave
	if r != nil {
		s.disinheritLocked(told)
	}
	if s.synced {
		dropped := s.indexer // somebody may be reading it
		s.indexer = s.store.newIndexer()
		for _, name := range dropped.ListKeys() {
			if object, exists, err := dropped.GetByKey(name); told && exists && err == nil {
				s.store.notifyLocked(eventqueue.Event{Type: eventqueue.Deleted, Old: toolscache.DeletedFinalStateUnknown{Key: name, Obj: object}})
			}
		}
	}
	s.progress, s.degraded = "", false
	s.advanceLocked()
	s.answerLocked(false, r)
}

// answerLocked sets what is known of the stream, and tells those who wait for that.
func (s *Stream) answerLocked(synced bool, r *Refusal) {
	was := s.synced || s.refusal != nil
	s.synced, s.refusal = synced, r
	is := synced || r != nil
	switch {
	case is && !was:
		close(s.answered)
	case was && !is:
		s.answered = make(chan struct{})
	}
	s.store.settleLocked()
	s.store.options.Changed()
}

// advanceLocked tells those who wait for a write.
func (s *Stream) advanceLocked() {
	if s.advanced != nil {
		close(s.advanced)
		s.advanced = nil
	}
}

// setDegraded says whether the objects may be stale.
func (s *Stream) setDegraded(degraded bool) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	if s.degraded != degraded {
		s.degraded = degraded
		s.store.options.Changed()
	}
}

// stateLocked returns where the stream stands; the kind's mu is held for reading.
func (s *Stream) stateLocked() informer.State {
	switch {
	case s.refusal != nil:
		return s.refusal.State
	case s.degraded:
		return informer.Degraded
	case s.synced:
		return informer.Live
	}
	return informer.Starting
}

// AwaitObjects waits until the stream is synced or refused, and returns its objects or the refusal. The error is that of
// a wait that ended before.
func (s *Stream) AwaitObjects(ctx context.Context) (toolscache.Indexer, *Refusal, error) {
	for {
		s.store.mu.RLock()
		indexer, synced, refused, answered := s.indexer, s.synced, s.refusal, s.answered
		s.store.mu.RUnlock()
		switch {
		case synced:
			return indexer, nil, nil
		case refused != nil:
			return nil, refused, nil
		}
		if !eventqueue.WaitClosed(ctx, answered) {
			return nil, nil, s.store.SyncTimeout()
		}
	}
}

// CurrentRefusal returns why there are no objects; nil while it is not refused.
func (s *Stream) CurrentRefusal() *Refusal {
	s.store.mu.RLock()
	defer s.store.mu.RUnlock()
	return s.refusal
}

// ObjectCount returns how many objects there are, as informer.Storage has it.
func (s *Stream) ObjectCount() int {
	s.store.mu.RLock()
	defer s.store.mu.RUnlock()
	return len(s.indexer.ListKeys())
}

// ObjectNames returns the names of all objects, as namespace/name, and whether the stream is synced or refused.
func (s *Stream) ObjectNames() (names []string, answered bool) {
	s.store.mu.RLock()
	defer s.store.mu.RUnlock()
	return s.indexer.ListKeys(), s.synced || s.refusal != nil
}

// RightsChanged says that what may be done in its namespace may have changed.
func (s *Stream) RightsChanged() { s.store.options.Changed() }

// TakeDoubt reports whether the API server has denied it since the last call.
func (s *Stream) TakeDoubt() bool {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	doubted := s.doubted
	s.doubted = false
	return doubted
}

// Refusal is why a stream has no objects. It never changes.
type Refusal struct {
	State informer.State // final, or Stopped: the stream is not watched any more
	Since time.Time
	Err   error // the answer of the API server; nil if an access review says so
	// Missing is what is denied. The answer names one verb, an access review all of them.
	Missing  []access.Access
	Identity string // as the answer names it, or ""
	reviewed bool
}

// IsDenied reports whether rights are missing. A nil Refusal is none.
func (r *Refusal) IsDenied() bool {
	return r != nil && (r.State == informer.Forbidden || r.State == informer.Unauthenticated)
}

// versionOf returns the resourceVersion of an object.
func versionOf(object any) string {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return ""
	}
	return accessor.GetResourceVersion()
}
