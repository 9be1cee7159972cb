package informer

import "slices"

// tell tells the subscribers of a change, except those given. The lock is not
// held over their calls, so one that is being detached may still be told.
func (st *stream) tell(epoch uint64, c change, except []EventHandler) {
	if c.kind == "" {
		return
	}
	var few [fewSubscribers]EventHandler
	st.mu.RLock()
	if st.stopped || st.status.Epoch != epoch {
		st.mu.RUnlock()
		return
	}
	to := st.routes.find(few[:0], c.object, c.old)
	event := Event{Key: st.key, Type: c.kind, Object: c.object, Old: c.old, State: st.status.State}
	st.mu.RUnlock()
	for _, sub := range to {
		if !slices.Contains(except, sub) {
			sub.Changed(event)
		}
	}
}

// tellAll tells every subscriber of the stream about the stream itself.
func (st *stream) tellAll(kind EventType) {
	st.mu.RLock()
	if st.stopped {
		st.mu.RUnlock()
		return
	}
	to := st.routes.everybody(nil)
	event := Event{Key: st.key, Type: kind, State: st.status.State}
	st.mu.RUnlock()
	for _, sub := range to {
		sub.Changed(event)
	}
}
