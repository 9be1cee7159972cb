package scopedcache

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/informer/objectstore"
)

// stream has the objects of a kind in one namespace, or in all of them. Its storage is that
// of an informer.
type stream struct {
	kind *kind
	// namespace is its key in the kind; requestNamespace that of its requests, which a field selector may
	// narrow.
	namespace, requestNamespace string
	config                      cache.Config
	informerKey                 informer.Key
	selector                    objectstore.Selector // of informerKey
	// reviewed: it is opened only where a review allows that, and a denial is nothing that a list over all
	// namespaces tells of.
	reviewed bool

	// The engine's mu guards what is below.
	open    bool // its informer is needed
	triedAt uint64

	// The kind's mu guards what is below.
	indexer toolscache.Indexer // nil until the stream is added to the kind
	// inherited are objects that event handlers were told of by streams that this one takes over, until its first list.
	inherited map[string]any
	synced    bool          // the first list is in
	refusal   *refusal      // why there are no objects; nil while it is not refused
	doubted   bool          // the API server has denied it, and nobody has told the reviews of that
	degraded  bool          // the objects may be stale
	answered  chan struct{} // closed while synced or refused
	progress  string        // the resourceVersion that it has come to
	advanced  chan struct{} // closed at the next change of what is above; nil if nobody waits
}

func (k *kind) newStream(namespace string, config cache.Config, reviewed bool) *stream {
	s := &stream{
		kind: k, namespace: namespace, requestNamespace: namespace, config: config, reviewed: reviewed,
		answered: make(chan struct{}),
	}
	s.informerKey = informer.Key{GVR: k.mapping.Resource, Form: informer.Form{Storage: k.storageName()}}
	if config.LabelSelector != nil {
		s.informerKey.LabelSelector = config.LabelSelector.String()
	}
	if config.FieldSelector != nil {
		s.informerKey.FieldSelector = config.FieldSelector.String()
		if only, found := config.FieldSelector.RequiresExactMatch("metadata.namespace"); found && namespace == "" && k.isNamespaced() {
			s.requestNamespace = only
		}
	}
	s.informerKey.Namespace = s.requestNamespace
	s.selector = objectstore.NewSelector(s.requestNamespace, s.informerKey.LabelSelector, s.informerKey.FieldSelector)
	return s
}

// readAccesses returns what it takes to watch.
func (s *stream) readAccesses() []access.Access {
	return []access.Access{s.accessTo("list"), s.accessTo("watch")}
}

func (s *stream) accessTo(verb string) access.Access {
	return access.Access{Verb: verb, Group: s.informerKey.GVR.Group, Resource: s.informerKey.GVR.Resource}
}

func (s *stream) putLocked(object any, initial bool) error {
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
		s.kind.notifyLocked(notification{kind: added, new: object, initial: initial})
	case versionOf(old) != versionOf(object):
		s.kind.notifyLocked(notification{kind: updated, old: old, new: object})
	}
	return nil
}

func (s *stream) replaceLocked(list []any) error {
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
func (s *stream) forgetLocked(name string) {
	old, existed, err := s.indexer.GetByKey(name)
	if err != nil || !existed {
		return
	}
	_ = s.indexer.Delete(old) // it has a key: it was found by it
	s.kind.notifyLocked(notification{kind: deleted, old: toolscache.DeletedFinalStateUnknown{Key: name, Obj: old}})
}

// denyReviewed records that a review denies what it takes to watch. No informer is open.
func (s *stream) denyReviewed(missing []access.Access, now time.Time) {
	s.kind.mu.Lock()
	defer s.kind.mu.Unlock()
	r := &refusal{state: informer.Forbidden, since: now, missing: missing, reviewed: true}
	if before := s.refusal; before.isDenied() {
		if before.reviewed && slices.Equal(before.missing, missing) {
			return
		}
		r.since, r.err, r.identity = before.since, before.err, before.identity
	}
	s.dropLocked(r)
}

// tellListLocked tells of a first list. Event handlers know what was inherited.
func (s *stream) tellListLocked(list []any) error {
	for _, object := range list {
		name, err := toolscache.MetaNamespaceKeyFunc(object)
		if err != nil {
			return err
		}
		old, known := s.inherited[name]
		delete(s.inherited, name)
		switch {
		case !known:
			s.kind.notifyLocked(notification{kind: added, new: object, initial: true})
		case versionOf(old) != versionOf(object):
			s.kind.notifyLocked(notification{kind: updated, old: old, new: object})
		}
	}
	s.disinheritLocked(true)
	return nil
}

// inheritLocked takes over what event handlers were told of another stream, which ends.
func (s *stream) inheritLocked(from *stream) {
	if s.inherited == nil {
		s.inherited = map[string]any{}
	}
	for _, object := range from.indexer.List() {
		if name, err := toolscache.MetaNamespaceKeyFunc(object); err == nil {
			s.inherited[name] = object
		}
	}
	from.indexer = s.kind.newIndexer()
}

// disinheritLocked forgets what was inherited, and may tell of a Delete for each.
func (s *stream) disinheritLocked(told bool) {
	for _, name := range slices.Sorted(maps.Keys(s.inherited)) {
		if told {
			s.kind.notifyLocked(notification{kind: deleted, old: toolscache.DeletedFinalStateUnknown{Key: name, Obj: s.inherited[name]}})
		}
	}
	s.inherited = nil
}

// dropLocked forgets all objects. Without a refusal the stream is being opened again.
func (s *stream) dropLocked(r *refusal) {
	told := s.kind.settings.own.DeleteOnLeave
	if r != nil {
		s.disinheritLocked(told)
	}
	if s.synced {
		dropped := s.indexer // somebody may be reading it
		s.indexer = s.kind.newIndexer()
		for _, name := range dropped.ListKeys() {
			if object, exists, err := dropped.GetByKey(name); told && exists && err == nil {
				s.kind.notifyLocked(notification{kind: deleted, old: toolscache.DeletedFinalStateUnknown{Key: name, Obj: object}})
			}
		}
	}
	s.progress, s.degraded = "", false
	s.advanceLocked()
	s.answerLocked(false, r)
}

// answerLocked sets what is known of the stream, and tells those who wait for that.
func (s *stream) answerLocked(synced bool, r *refusal) {
	was := s.synced || s.refusal != nil
	s.synced, s.refusal = synced, r
	is := synced || r != nil
	switch {
	case is && !was:
		close(s.answered)
	case was && !is:
		s.answered = make(chan struct{})
	}
	s.kind.settleLocked()
	s.kind.changed(s.kind)
}

// advanceLocked tells those who wait for a write.
func (s *stream) advanceLocked() {
	if s.advanced != nil {
		close(s.advanced)
		s.advanced = nil
	}
}

// setDegraded says whether the objects may be stale.
func (s *stream) setDegraded(degraded bool) {
	s.kind.mu.Lock()
	defer s.kind.mu.Unlock()
	if s.degraded != degraded {
		s.degraded = degraded
		s.kind.changed(s.kind)
	}
}

// stateLocked returns where the stream stands; the kind's mu is held for reading.
func (s *stream) stateLocked() informer.State {
	switch {
	case s.refusal != nil:
		return s.refusal.state
	case s.degraded:
		return informer.Degraded
	case s.synced:
		return informer.Live
	}
	return informer.Starting
}

// awaitObjects waits until the stream is synced or refused, and returns its objects, or what a read of it fails with.
func (s *stream) awaitObjects(ctx context.Context) (toolscache.Indexer, error) {
	for {
		s.kind.mu.RLock()
		indexer, synced, refused, answered := s.indexer, s.synced, s.refusal, s.answered
		s.kind.mu.RUnlock()
		switch {
		case synced:
			return indexer, nil
		case refused != nil:
			return nil, s.readError(refused)
		}
		if !waitClosed(ctx, answered) {
			return nil, apierrors.NewTimeoutError(fmt.Sprintf("failed waiting for %T Informer to sync", s.kind.example), 0)
		}
	}
}

// versionOf returns the resourceVersion of an object.
func versionOf(object any) string {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return ""
	}
	return accessor.GetResourceVersion()
}
