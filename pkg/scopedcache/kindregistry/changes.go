package kindregistry

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/scopedcache/eventqueue"
	"github.com/ambit-dev/ambit/pkg/scopedcache/readlog"
	"github.com/ambit-dev/ambit/pkg/scopedcache/streamstore"
)

// Change says that a stream has another state. It is a copy, but for Missing, which nobody may change.
type Change struct {
	GVK schema.GroupVersionKind
	// Namespace is where; "" is all namespaces, or a kind without any.
	Namespace string
	// State is informer.Live once objects can be read, informer.Degraded while they may be stale, Forbidden,
	// Unauthenticated, Missing or Invalid when the API server has refused and they are dropped, and
	// Stopped when the namespace is not watched any more.
	State informer.State
	// Missing is what is denied; nil if nothing is.
	Missing []access.Access
	// Since is when a refusal was first seen.
	Since time.Time
	// Owners are those whose handles need the stream, sorted; or, if Object is set, those who have read that.
	Owners []readlog.Owner
	// Object, if it is not empty, has changed since the owners have read it, or a list that it is in or was in; State is
	// informer.Live then. scopedcache.Source tells of that, OnChange does not.
	Object types.NamespacedName
}

// IsLost reports whether there is nothing to read.
func (c Change) IsLost() bool { return c.State.IsFinal() || c.State == informer.Stopped }

// IsLive reports whether there is all to read.
func (c Change) IsLive() bool { return c.State == informer.Live }

// subscriber is told of changes, at first of how all streams are.
type subscriber struct {
	done <-chan struct{} // closed when it is not to be told any more
	tell func(Change)
	// reads: it is also told of objects that handles have read, with a lock held that guards the store.
	reads bool
	isOn  bool // it was told how all streams are; only the engine's goroutine looks at it
}

// subscribers are those who are told of changes. They are safe for concurrent use, but for tellAll.
type subscribers struct {
	mu      sync.Mutex // guards list; taken under no other lock
	list    []*subscriber
	readers atomic.Pointer[[]func(Change)] // those of the list who are told of reads
}

// addSubscriber adds one, who is told until ctx ends. tell must not block.
func (l *subscribers) addSubscriber(ctx context.Context, reads bool, tell func(Change)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, &subscriber{done: ctx.Done(), reads: reads, tell: tell})
	l.publishReaders()
}

// publishReaders says who is told of reads; mu is held.
func (l *subscribers) publishReaders() {
	var readers []func(Change)
	for _, s := range l.list {
		if s.reads {
			readers = append(readers, s.tell)
		}
	}
	l.readers.Store(&readers)
}

// tellRead tells of an object that handles have read. It may be called with any lock held.
func (l *subscribers) tellRead(c Change) {
	if readers := l.readers.Load(); readers != nil {
		for _, tell := range *readers {
			tell(c)
		}
	}
}

// tellAll tells all of them what has changed, and who is new how all streams are. It is called by the engine's goroutine
// alone, with no lock held.
func (l *subscribers) tellAll(changes []Change, states func() []Change) {
	for _, s := range l.currentSubscribers() {
		list := changes
		if !s.isOn {
			list, s.isOn = states(), true
		}
		for _, change := range list {
			s.tell(change)
		}
	}
}

// currentSubscribers returns those who have not left.
func (l *subscribers) currentSubscribers() []*subscriber {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = slices.DeleteFunc(l.list, func(s *subscriber) bool { return eventqueue.IsClosed(s.done) })
	l.publishReaders()
	return slices.Clone(l.list)
}

// SubscribeChanges has tell called until ctx ends, by the goroutine of RunAll: at first for each stream as it is, then for
// every change. With reads it is also told of objects that readers have read, under a lock that guards them. It must not block.
func (r *Registry) SubscribeChanges(ctx context.Context, reads bool, tell func(Change)) {
	r.subscribed.addSubscriber(ctx, reads, tell)
	r.dirty.wakeUp()
}

// toldStates returns how all streams were last told to be.
func (r *Registry) toldStates() (list []Change) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, k := range r.kinds {
		for _, namespace := range slices.Sorted(maps.Keys(k.told)) {
			list = append(list, k.changeTo(namespace, k.told[namespace]))
		}
	}
	return list
}

// changeTo returns the change to a state; the registry's mu is held.
func (k *kind) changeTo(namespace string, state streamstore.State) Change {
	return Change{
		GVK: k.GVK, Namespace: namespace, State: state.State, Missing: state.Missing, Since: state.Since, Owners: k.ownersOf(namespace),
	}
}

// changesLocked returns what has changed in the streams of a kind since the last call, and which of that is news: that a
// stream was refused, or is back. What is tried again in between is none.
func (r *Registry) changesLocked(k *kind) (list, news []Change) {
	current := k.StreamStates()
	for _, namespace := range slices.Sorted(maps.Keys(k.told)) {
		if _, ok := current[namespace]; ok {
			continue
		}
		delete(k.told, namespace)
		if _, covered := current[metav1.NamespaceAll]; covered && len(k.Namespaces) == 0 {
			continue // that stream has the namespace now
		}
		list = append(list, k.changeTo(namespace, streamstore.State{State: informer.Stopped}))
	}
	for _, namespace := range slices.Sorted(maps.Keys(current)) {
		state, before := current[namespace], k.told[namespace]
		if state.State == informer.Starting || state.State == before.State && slices.Equal(state.Missing, before.Missing) {
			continue
		}
		k.told[namespace] = state
		change := k.changeTo(namespace, state)
		list = append(list, change)
		if was := before.IsFinal(); state.IsFinal() && !was || state.State == informer.Live && was {
			news = append(news, change)
		}
	}
	return list, news
}

// ownersOf returns the owners who need a namespace; the registry's mu is held.
func (k *kind) ownersOf(namespace string) (list []readlog.Owner) {
	for h, n := range k.needs {
		if h != nil && h.IsOwner() && (namespace == "" || n.CoversNamespace(namespace)) {
			list = append(list, h.Owner)
		}
	}
	slices.SortFunc(list, readlog.CompareOwners)
	return list
}
