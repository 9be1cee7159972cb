package informer

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// beginEpoch starts an epoch and returns its number. end ends the epoch. A refused informer keeps its state until
// there is another answer: its handlers see no flapping.
func (st *sharedInformer) beginEpoch(end context.CancelFunc) uint64 {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.endEpoch, st.watchOpen, st.hasBeenLive = end, false, false
	if !st.stopped {
		st.status.Epoch = st.set.epochs.Add(1)
	}
	return st.status.Epoch
}

// listAccepted is called when the API server has answered a list.
func (st *sharedInformer) listAccepted(epoch uint64) {
	st.set.noteReached()
	st.changeInEpoch(epoch, func() {
		if st.status.State != Live && st.status.State != Degraded {
			st.enterState(Starting)
		}
	})
}

// watchOpened is called when a watch is open. With initial it brings a list first.
func (st *sharedInformer) watchOpened(epoch uint64, initial bool) {
	st.set.noteReached()
	st.changeInEpoch(epoch, func() {
		st.watchOpen = true
		switch {
		case !st.store.IsSynced():
			st.enterState(Starting)
		case !initial:
			st.enterState(Live)
		}
	})
}

// listReceived stores a complete list, changes the state and notifies handlers. It
// reports whether the epoch is still the present one.
func (st *sharedInformer) listReceived(epoch uint64, objects []*unstructured.Unstructured, resourceVersion string) bool {
	st.mu.Lock()
	if st.stopped || st.status.Epoch != epoch {
		st.mu.Unlock()
		return false
	}
	first, before := !st.store.IsSynced(), st.status.State
	changes := st.store.ReplaceAll(objects, resourceVersion)
	st.fitProjection()
	st.status.Synced = true
	if st.watchOpen {
		st.enterState(Live)
	}
	after := st.status
	changed := isAnnounced(before, after.State)
	st.mu.Unlock()
	if changed && before != Probing && before != Starting {
		st.logChange(before, after)
	}
	switch {
	case first:
		st.notifyAll(Synced)
	case changed:
		st.notifyAll(StateChanged)
	}
	for _, c := range changes {
		st.notify(epoch, c, nil)
	}
	return true
}

// degrade is called when the API server cannot be reached or is busy. A refused
// informer stays refused.
func (st *sharedInformer) degrade(epoch uint64, reason string, err error) {
	st.degradeIf(epoch, func() bool { return true }, reason, err)
}

// degradeIf is degrade if holds returns true. holds is called with mu held: what happens
// after it, such as an answer, also changes the state after this.
func (st *sharedInformer) degradeIf(epoch uint64, holds func() bool, reason string, err error) {
	st.changeInEpoch(epoch, func() {
		if !holds() {
			return
		}
		st.watchOpen = false
		if st.status.State.Final() {
			return
		}
		st.enterState(Degraded)
		st.setReason(reason, err)
	})
}

// closeEpoch ends an epoch: the store is dropped, without a Deleted for anything.
func (st *sharedInformer) closeEpoch(epoch uint64, v classification) {
	st.changeInEpoch(epoch, func() {
		st.watchOpen = false
		if v.state == Degraded && st.status.State.Final() {
			return
		}
		st.closeStore(v)
	})
}

// closeStore drops all objects and enters the state of v; mu is held.
func (st *sharedInformer) closeStore(v classification) {
	st.store.DropAll()
	st.projection.Forget() // nothing stays that was read under a right that is gone
	st.status.Synced = false
	st.enterState(v.state)
	st.setReason(v.reason, v.err)
}

// changeInEpoch is changeState, unless the epoch is over.
func (st *sharedInformer) changeInEpoch(epoch uint64, do func()) {
	st.changeState(func() {
		if st.status.Epoch == epoch {
			do()
		}
	})
}

// changeState changes the state by do, which is called with mu held. It logs the change
// and notifies handlers if it is one that is announced.
func (st *sharedInformer) changeState(do func()) {
	st.mu.Lock()
	if st.stopped {
		st.mu.Unlock()
		return
	}
	before := st.status.State
	do()
	after := st.status
	st.mu.Unlock()
	if !isAnnounced(before, after.State) {
		return
	}
	st.logChange(before, after)
	st.notifyAll(StateChanged)
}

// logChange logs that an informer got into trouble, or out of it.
func (st *sharedInformer) logChange(before State, after Status) {
	st.set.options.Logger.Info("stream changed", "stream", st.key.String(),
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
	st.status.State, st.status.Since = state, st.now()
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

// wasLive reports whether the informer is or was Live in its epoch, the last one that
// began.
func (st *sharedInformer) wasLive() bool {
	st.mu.RLock()
	defer st.mu.RUnlock()
	return st.hasBeenLive
}

// epochBackoff returns how long to wait before the next epoch.
func (st *sharedInformer) epochBackoff(v classification, refusals int) time.Duration {
	switch {
	case v.state == Missing:
		return st.set.options.Lookup(refusals)
	case v.state.Final():
		return st.set.options.Retry(refusals)
	}
	return st.set.options.Reconnect(refusals)
}

// addSelectors puts the key's selectors into a request.
func (st *sharedInformer) addSelectors(opts *metav1.ListOptions) {
	opts.LabelSelector, opts.FieldSelector = st.key.LabelSelector, st.key.FieldSelector
}
