package informer

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ambit-dev/ambit/pkg/informer/handlerindex"
	"github.com/ambit-dev/ambit/pkg/informer/objectstore"
	"github.com/ambit-dev/ambit/pkg/informer/projection"
)

// EventType is what an Event is about.
type EventType string

const (
	// Added: an object that was not in the store.
	Added EventType = "Added"
	// Updated: an object that is kept has changed in what is kept of it, beside
	// its resourceVersion, or in that too with Form.Versions.
	Updated EventType = "Updated"
	// Deleted: an object has gone, or left the informer's selection. Object is what
	// was last kept of it.
	Deleted EventType = "Deleted"
	// Synced: the first list of an epoch is in. The objects in it are not announced
	// one by one.
	Synced EventType = "Synced"
	// StateChanged: the informer became Degraded or Live, or was refused. The steps
	// Probing and Starting are not announced, nor is Live when it comes with Synced.
	StateChanged EventType = "StateChanged"
)

// Event is what an EventHandler is told. Objects are those of the store: shared,
// projected, never to be changed.
type Event struct {
	Key  Key
	Type EventType
	// Object is set for Added, Updated and Deleted; Old for Updated.
	Object, Old *unstructured.Unstructured
	// State is that of the informer.
	State State
}

// EventHandler is told of changes in the informers that it keeps. Its dynamic type
// must be comparable: equal values are the same handler.
//
// Changed is called from the goroutine of an informer, or of an Observe or a Revoke
// by somebody else, with no lock held, and possibly from several at once. It holds
// up its informer: it must not block, nor call into Set; it hands over and returns. An
// event may be late, the Lister is the truth: a call that was under way when Require
// took the need away may still arrive.
type EventHandler interface {
	Changed(Event)
}

// Observe is read-your-own-writes: it puts an object, as the API server answered
// a write of it, into the store of an informer before the event of that write
// arrives. Without it, a handler that looks at the cache right after a write
// sees the time before it.
//
// Handlers that need the object are told, except those given as by (the
// writer knows already); the event of the write then tells nobody. The object is
// ignored where the informer knows better: it has seen a newer one, or has passed
// its resourceVersion without it (it is deleted, or not selected). While the
// first list is not in, the object waits and is used if the list turns out older.
//
// obj stays the caller's. A key that nobody needs is ignored.
func (s *Set) Observe(key Key, obj *unstructured.Unstructured, by ...EventHandler) {
	if st := s.informerOf(key); st != nil {
		st.observeKept(st.projection.ProjectWritten(obj), st.selector.Evaluate(obj), by)
	}
}

// DecoderFor returns a function that makes of the JSON of an object, which must be valid (jsonwalk) and is
// not kept, what the store of a key holds of it; nil if nobody needs the key. The function is safe
// for concurrent use. Nobody may change the objects.
func (s *Set) DecoderFor(key Key) func(data []byte) (*unstructured.Unstructured, error) {
	st := s.informerOf(key)
	if st == nil {
		return nil
	}
	return st.decodeAnswer
}

// ObserveDecoded is Observe of an object that DecoderFor has made for the key.
func (s *Set) ObserveDecoded(key Key, object *unstructured.Unstructured, by ...EventHandler) {
	if st := s.informerOf(key); st != nil {
		st.observeKept(object, st.selector.Evaluate(object), by)
	}
}

func (st *sharedInformer) observeKept(object *unstructured.Unstructured, belongs objectstore.Selection, by []EventHandler) {
	st.changeStore(0, func(s *objectstore.Store) objectstore.Change { return s.ObserveWrite(object, belongs) }, by)
}

// decodeAnswer makes what is kept of the object of an answer. The event of the write may have come before.
func (st *sharedInformer) decodeAnswer(data []byte) (*unstructured.Unstructured, error) {
	name, resourceVersion := projection.ReadVersion(data)
	st.mu.RLock()
	known := st.store.ObjectOfVersion(name, resourceVersion)
	st.mu.RUnlock()
	if known != nil {
		return known, nil
	}
	kept, err := st.projection.Decode(data)
	return kept.Unstructured, err
}

// decodeEvent makes what is kept of the object of an event. That of an own write is known already.
func (st *sharedInformer) decodeEvent(data []byte) (runtime.Object, error) {
	if known := st.ownWriteOf(data); known != nil {
		return projection.Transformed{Unstructured: known}, nil
	}
	return st.projection.Decode(data)
}

func (st *sharedInformer) ownWriteOf(data []byte) *unstructured.Unstructured {
	st.mu.RLock()
	defer st.mu.RUnlock()
	if !st.store.HasOwnWrites() {
		return nil
	}
	return st.store.OwnWrite(projection.ReadVersion(data))
}

// Deleted is Observe for a deletion that the API server has accepted: obj is the
// object as it was last known, with its uid and resourceVersion. Events and lists
// from before the deletion no longer bring it back. An object that lingers
// because of a finalizer comes back, as Added, with its deletionTimestamp.
func (s *Set) Deleted(key Key, obj *unstructured.Unstructured, by ...EventHandler) {
	if st := s.informerOf(key); st != nil {
		st.changeStore(0, func(s *objectstore.Store) objectstore.Change { return s.ObserveDeletion(obj) }, by)
	}
}

// changeStore changes the store and notifies handlers, except those given, unless the epoch that it is of is
// over or the informer stopped. An epoch of 0, which none has, is that in which the informer is.
func (st *sharedInformer) changeStore(epoch uint64, do func(*objectstore.Store) objectstore.Change, except []EventHandler) {
	st.mu.Lock()
	if st.stopped || epoch != 0 && epoch != st.status.Epoch {
		st.mu.Unlock()
		return
	}
	c, current := do(st.store), st.status.Epoch
	st.fitProjection()
	st.mu.Unlock()
	st.notifyHandlers(current, c, except)
}

// notifyHandlers tells the handlers of a change, except those given. The lock is not
// held over their calls, so one that is being detached may still be told.
func (st *sharedInformer) notifyHandlers(epoch uint64, c objectstore.Change, except []EventHandler) {
	if c.IsEmpty() {
		return
	}
	var few [handlerindex.FewHandlers]EventHandler
	st.mu.RLock()
	if st.stopped || st.status.Epoch != epoch {
		st.mu.RUnlock()
		return
	}
	to := st.handlers.HandlersOf(few[:0], c)
	event := eventOf(c)
	event.Key, event.State = st.key, st.status.State
	if len(st.holds) > 0 {
		to = slices.DeleteFunc(to, func(h EventHandler) bool { return st.holdEvent(h, event) })
	}
	st.mu.RUnlock()
	for _, sub := range to {
		if !slices.Contains(except, sub) {
			sub.Changed(event)
		}
	}
}

// eventOf returns the event of a change, without its key and state.
func eventOf(c objectstore.Change) Event {
	switch {
	case c.Old == nil:
		return Event{Type: Added, Object: c.New}
	case c.New == nil:
		return Event{Type: Deleted, Object: c.Old}
	}
	return Event{Type: Updated, Object: c.New, Old: c.Old}
}

// notifyAll tells every handler of the informer about the informer itself.
func (st *sharedInformer) notifyAll(kind EventType) {
	st.mu.RLock()
	if st.stopped {
		st.mu.RUnlock()
		return
	}
	to := st.handlers.AllHandlers(nil)
	event := Event{Key: st.key, Type: kind, State: st.status.State}
	st.mu.RUnlock()
	for _, sub := range to {
		sub.Changed(event)
	}
}
