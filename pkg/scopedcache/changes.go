package scopedcache

import (
	"context"
	"fmt"
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
	Owners []Owner
	// Object, if it is not empty, has changed since the owners have read it, or a list that it is in or was in; State is
	// informer.Live then. Source tells of that, OnChange does not.
	Object types.NamespacedName
}

// stateOfRead is the state of a stream that brings events.
const stateOfRead = informer.Live

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

// add adds one, who is told until ctx ends. tell must not block.
func (l *subscribers) add(ctx context.Context, reads bool, tell func(Change)) {
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
	for _, s := range l.current() {
		list := changes
		if !s.isOn {
			list, s.isOn = states(), true
		}
		for _, change := range list {
			s.tell(change)
		}
	}
}

// current returns those who have not left.
func (l *subscribers) current() []*subscriber {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = slices.DeleteFunc(l.list, func(s *subscriber) bool { return isClosed(s.done) })
	l.publishReaders()
	return slices.Clone(l.list)
}

// subscribeChanges has tell called by the engine's goroutine until ctx ends. It must not block.
func (e *engine) subscribeChanges(ctx context.Context, reads bool, tell func(Change)) {
	e.subscribed.add(ctx, reads, tell)
	e.dirty.wakeUp()
}

// toldStates returns how all streams were last told to be.
func (e *engine) toldStates() (list []Change) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, k := range e.kinds {
		k.mu.RLock()
		for _, namespace := range slices.Sorted(maps.Keys(k.told)) {
			list = append(list, k.changeLocked(namespace, k.told[namespace].State))
		}
		k.mu.RUnlock()
	}
	return list
}

// changeLocked returns the change to a state; the mu of the engine and of the kind are held.
func (k *kind) changeLocked(namespace string, state informer.State) Change {
	c := Change{GVK: k.key.GVK, Namespace: namespace, State: state, Owners: k.ownersOf(namespace)}
	if s, ok := k.streams[namespace]; ok && s.refusal != nil {
		c.Missing, c.Since = s.refusal.missing, s.refusal.since
	}
	return c
}

// toldState is what is told of a stream.
type toldState struct {
	informer.State
	missing string // what is denied, as text
}

// toldLocked returns what is to be told of a stream; the kind's mu is held.
func (s *stream) toldLocked() toldState {
	told := toldState{State: s.stateLocked()}
	if s.refusal != nil {
		told.missing = fmt.Sprint(s.refusal.missing)
	}
	return told
}

// changesLocked returns what has changed in the streams of a kind since the last call.
func (e *engine) changesLocked(k *kind) (list []Change) {
	current := map[string]toldState{}
	k.mu.RLock()
	defer k.mu.RUnlock()
	for namespace, s := range k.streams {
		current[namespace] = s.toldLocked()
	}
	for _, namespace := range slices.Sorted(maps.Keys(k.told)) {
		if _, ok := current[namespace]; !ok {
			delete(k.told, namespace)
			if _, covered := current[metav1.NamespaceAll]; covered && len(k.config.namespaces) == 0 {
				continue // that stream has the namespace now
			}
			list = append(list, k.changeLocked(namespace, informer.Stopped))
		}
	}
	for _, namespace := range slices.Sorted(maps.Keys(current)) {
		state := current[namespace]
		if state.State == informer.Starting || state == k.told[namespace] {
			continue
		}
		k.told[namespace] = state
		list = append(list, k.changeLocked(namespace, state.State))
	}
	return list
}

// newsOf returns those changes by which a stream was refused or is back. before is what was told of each.
func newsOf(changes []Change, before map[string]toldState) (news []Change) {
	for _, c := range changes {
		if was := before[c.Namespace].IsFinal(); c.State.IsFinal() && !was || c.IsLive() && was {
			news = append(news, c)
		}
	}
	return news
}

// logNews says that something cannot be read, and that it can again. What is tried again in between is no news.
func (e *engine) logNews(news []Change) {
	for _, c := range news {
		log := e.logger.WithValues("kind", c.GVK.Kind, "group", c.GVK.Group, "namespace", c.Namespace)
		switch {
		case c.IsLive():
			log.Info("can be read again")
		case len(c.Missing) > 0:
			denied := DeniedError{Missing: c.Missing, Namespace: c.Namespace, Identity: e.identity.name()}
			log.Info("cannot be read", "reason", denied.Error())
		default:
			log.Info("cannot be read", "reason", string(c.State))
		}
	}
}

// ownersOf returns the owners whose handles need a namespace; the engine's mu is held.
func (k *kind) ownersOf(namespace string) (list []Owner) {
	for h, n := range k.needs {
		if h != nil && h.owner != (Owner{}) && (namespace == "" || n.covers(namespace)) {
			list = append(list, h.owner)
		}
	}
	slices.SortFunc(list, compareOwners)
	return list
}
