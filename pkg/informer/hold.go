package informer

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// eventHold is the events of an object that a handler is not told while it writes the object.
type eventHold struct {
	handler EventHandler
	name    types.NamespacedName

	mu     sync.Mutex
	events []Event
}

// holdEvent says whether an event is kept from a handler for now; mu is held for reading, at least.
func (st *sharedInformer) holdEvent(handler EventHandler, event Event) bool {
	for _, hold := range st.holds {
		if hold.handler == handler && hold.name.Name == event.Object.GetName() && hold.name.Namespace == event.Object.GetNamespace() {
			hold.mu.Lock()
			hold.events = append(hold.events, event)
			hold.mu.Unlock()
			return true
		}
	}
	return false
}

// releaseHold ends a hold when all that was held is told, so that the handler is told everything in order.
func (st *sharedInformer) releaseHold(hold *eventHold, resourceVersion string) {
	for {
		st.mu.Lock() // nothing is added meanwhile
		events := hold.events
		hold.events = nil
		if len(events) == 0 {
			st.holds = slices.DeleteFunc(st.holds, func(h *eventHold) bool { return h == hold })
			st.mu.Unlock()
			return
		}
		st.mu.Unlock()
		for _, event := range events {
			if event.Type == Deleted || event.Object.GetResourceVersion() != resourceVersion {
				hold.handler.Changed(event)
			}
		}
	}
}
