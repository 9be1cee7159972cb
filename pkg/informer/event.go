package informer

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/informer/handlerindex"
	"github.com/ambit-dev/ambit/pkg/informer/objectstore"
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
