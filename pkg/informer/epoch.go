package informer

import (
	"iter"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/informer/listwatch"
)

// epoch is one start of an informer: the time in which one Reflector feeds it. Once the
// informer is in another epoch, or stopped, all that is said here is dropped.
type epoch struct {
	informer    *sharedInformer
	number      uint64                 // see Status.Epoch
	listWatcher *listwatch.ListWatcher // nil until there is a client
}

var _ listwatch.Epoch = &epoch{}

// isOver reports whether the informer is in another epoch, or stopped; its mu is held.
func (e *epoch) isOver() bool { return e.informer.stopped || e.informer.status.Epoch != e.number }

// ListAccepted implements listwatch.Epoch.
func (e *epoch) ListAccepted() {
	e.changeState(func(st *sharedInformer) {
		if st.status.State != Live && st.status.State != Degraded {
			st.enterState(Starting)
		}
	})
}

// WatchOpened implements listwatch.Epoch.
func (e *epoch) WatchOpened(initial bool) {
	e.changeState(func(st *sharedInformer) {
		st.watchOpen = true
		switch {
		case !st.store.IsSynced():
			st.enterState(Starting)
		case !initial:
			st.enterState(Live)
		}
	})
}

// Degrade implements listwatch.Epoch. A refused informer stays refused.
func (e *epoch) Degrade(reason string, err error, holds func() bool) {
	e.changeState(func(st *sharedInformer) {
		if !holds() {
			return
		}
		st.watchOpen = false
		if st.status.State.IsFinal() {
			return
		}
		st.enterState(Degraded)
		st.setReason(reason, err)
	})
}

// closeEpoch ends the epoch: the store is dropped, without a Deleted for anything.
func (e *epoch) closeEpoch(v listwatch.Classification) {
	e.changeState(func(st *sharedInformer) {
		st.watchOpen = false
		if v.Class == listwatch.Degraded && st.status.State.IsFinal() {
			return
		}
		st.closeStore(v)
	})
}

// changeState is sharedInformer.changeState, unless the epoch is over.
func (e *epoch) changeState(do func(*sharedInformer)) {
	e.informer.changeState(func() {
		if !e.isOver() {
			do(e.informer)
		}
	})
}

// receiveList stores a complete list, changes the state and notifies handlers.
func (e *epoch) receiveList(objects iter.Seq[*unstructured.Unstructured], resourceVersion string) {
	st := e.informer
	st.mu.Lock()
	if e.isOver() {
		st.mu.Unlock()
		return
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
		st.notifyHandlers(e.number, c, nil)
	}
	if e.listWatcher != nil {
		e.listWatcher.ListReceived()
	}
}

// advanceTo records that the Reflector has come to a resourceVersion.
func (e *epoch) advanceTo(resourceVersion string) {
	st := e.informer
	st.mu.Lock()
	if e.isOver() {
		st.mu.Unlock()
		return
	}
	changes := st.store.AdvanceTo(resourceVersion)
	st.mu.Unlock()
	for _, c := range changes {
		st.notifyHandlers(e.number, c, nil)
	}
}
