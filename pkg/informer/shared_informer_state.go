package informer

import "github.com/ambit-dev/ambit/pkg/informer/listwatch"

// changeState changes the state by do, which is called with mu held. It logs the change
// and notifies handlers if it is one that is announced.
func (st *sharedInformer) changeState(do func()) { st.announceChange(st.applyChange(do)) }

// stateChange is what changeState has changed. The zero value is nothing.
type stateChange struct {
	before State
	after  Status
}

// applyChange is changeState without telling anybody.
func (st *sharedInformer) applyChange(do func()) (c stateChange) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.stopped {
		return c
	}
	c.before = st.status.State
	do()
	c.after = st.status
	return c
}

func (st *sharedInformer) announceChange(c stateChange) {
	if isAnnounced(c.before, c.after.State) {
		st.logChange(c.before, c.after)
		st.notifyAll(StateChanged)
	}
}

// logChange logs that an informer got into trouble, or out of it.
func (st *sharedInformer) logChange(before State, after Status) {
	st.env.options.Logger.Info("stream changed", "stream", st.key.String(),
		"from", before, "to", after.State, "reason", after.Reason, "message", after.Message)
}

// isAnnounced reports whether handlers are told of a change of state.
func isAnnounced(before, after State) bool {
	return before != after && after != Probing && after != Starting
}

// enterState changes the state; mu is held.
func (st *sharedInformer) enterState(state State) {
	if st.status.State == state {
		return
	}
	st.status.State, st.status.Since = state, st.currentTime()
	st.hasBeenLive = st.hasBeenLive || state == Live
	st.setReason("", nil)
}

// setReason says why the state is what it is; mu is held.
func (st *sharedInformer) setReason(reason string, err error) {
	st.status.Reason, st.status.Err, st.status.Message = reason, err, ""
	if err != nil {
		st.status.Message = err.Error()
	}
}

// closeStore drops all objects and enters the state of v; mu is held.
func (st *sharedInformer) closeStore(v listwatch.Classification) {
	st.store.DropAll()
	st.projection.ForgetShared() // nothing stays that was read under a right that is gone
	st.status.Synced = false
	st.enterState(State(v.Class))
	st.setReason(v.Reason, v.Err)
	st.dropStorage()
}
