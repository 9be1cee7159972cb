package informer

import (
	"context"
	"iter"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/ambit-dev/ambit/pkg/informer/listwatch"
)

// epoch is one start of a stream: the time in which one Reflector feeds some informers. For an informer that is in
// another epoch, or stopped, all that is said here is dropped.
type epoch struct {
	stream      *stream
	end         context.CancelFunc
	feeds       []*feed                // of the informers that share the stream; never changes
	continues   bool                   // the informers have what the epoch before has brought
	superseded  atomic.Bool            // ended so that an informer can join, and the next one continues it
	finished    bool                   // ended by itself; the stream's mu guards it
	listWatcher *listwatch.ListWatcher // nil until there is a client
}

// feed is an epoch for one of its informers.
type feed struct {
	*sharedInformer
	epoch  *epoch
	number uint64 // see Status.Epoch
}

var _ listwatch.Epoch = &epoch{}

// isOver reports whether the informer is in another epoch, or stopped; its mu is held.
func (f *feed) isOver() bool {
	return f.stopped || f.status.Epoch != f.number || f.epoch.superseded.Load()
}

// ListAccepted implements listwatch.Epoch.
func (e *epoch) ListAccepted() {
	e.changeStates(func(st *sharedInformer) {
		if st.status.State != Live && st.status.State != Degraded {
			st.enterState(Starting)
		}
	})
}

// WatchOpened implements listwatch.Epoch.
func (e *epoch) WatchOpened(initial bool) {
	e.changeStates(func(st *sharedInformer) {
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
	e.changeStates(func(st *sharedInformer) {
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

// closeEpoch ends the epoch: the stores are dropped, without a Deleted for anything. Without an error it was revoked, and
// they are dropped already.
func (e *epoch) closeEpoch(v listwatch.Classification) {
	if v.Err == nil {
		return
	}
	e.changeStates(func(st *sharedInformer) {
		st.watchOpen = false
		if v.Class == listwatch.Degraded && st.status.State.IsFinal() {
			return
		}
		st.closeStore(v)
	})
}

// changeStates is sharedInformer.changeState for each informer, unless the epoch is over for it.
func (e *epoch) changeStates(do func(*sharedInformer)) {
	for _, f := range e.feeds {
		f.changeState(func() {
			if !f.isOver() {
				do(f.sharedInformer)
			}
		})
	}
}

// wasLive reports whether an informer is or was Live in the epoch, the last one that began.
func (e *epoch) wasLive() bool {
	for _, f := range e.feeds {
		if f.wasLive() {
			return true
		}
	}
	return false
}

// reportFailure reports an error that does not end the epoch.
func (e *epoch) reportFailure(failed listwatch.Failure) {
	action := ActionRetry
	if failed.Relist {
		action = ActionRelist
	}
	e.reportError(failed.Classification, action, failed.Wait)
}

// reportClosed reports the error that ended the epoch. Set.RevokeInformers ends one without.
func (e *epoch) reportClosed(v listwatch.Classification, wait time.Duration) {
	if v.Err != nil {
		e.reportError(v, ActionClose, wait)
	}
}

func (e *epoch) reportError(v listwatch.Classification, action Action, wait time.Duration) {
	if e.superseded.Load() {
		return // it was ended, and that is all
	}
	for _, f := range e.feeds {
		f.reportError(v, action, wait)
	}
}

// connectSource makes the source of the epoch. What is shared has one that decodes for all.
func (e *epoch) connectSource() (listwatch.Source, error) {
	switch env := e.stream.env; {
	case len(e.feeds) == 0:
		return nil, errNobody
	case len(e.feeds) > 1:
		return env.connect(e.stream.key, e.decodeShared)
	case e.feeds[0].storage != nil:
		return e.feeds[0].storage.Source()
	default:
		return env.connect(e.feeds[0].key, e.feeds[0].decodeEvent)
	}
}

// reflectorStore returns what the Reflector writes to.
func (e *epoch) reflectorStore() cache.ReflectorStore {
	if len(e.feeds) == 1 {
		return e.feeds[0].reflectorStore()
	}
	shared := sharedStore{epoch: e}
	for _, f := range e.feeds {
		shared.stores = append(shared.stores, f.reflectorStore())
	}
	return shared
}

// receiveList stores a complete list, changes the state and notifies handlers.
func (f *feed) receiveList(objects iter.Seq[*unstructured.Unstructured], resourceVersion string) {
	f.mu.Lock()
	if f.isOver() {
		f.mu.Unlock()
		return
	}
	first, before := !f.store.IsSynced(), f.status.State
	changes := f.store.ReplaceAll(objects, resourceVersion)
	f.fitProjection()
	f.status.Synced = true
	if f.watchOpen {
		f.enterState(Live)
	}
	after := f.status
	changed := isAnnounced(before, after.State)
	f.mu.Unlock()
	if changed && before != Probing && before != Starting {
		f.logChange(before, after)
	}
	switch {
	case first:
		f.notifyAll(Synced)
	case changed:
		f.notifyAll(StateChanged)
	}
	for _, c := range changes {
		f.notifyHandlers(f.number, c, nil)
	}
	if f.epoch.listWatcher != nil {
		f.epoch.listWatcher.ListReceived()
	}
}

// advanceTo records that the Reflector has come to a resourceVersion.
func (f *feed) advanceTo(resourceVersion string) {
	f.mu.Lock()
	if f.isOver() {
		f.mu.Unlock()
		return
	}
	changes := f.store.AdvanceTo(resourceVersion)
	f.mu.Unlock()
	for _, c := range changes {
		f.notifyHandlers(f.number, c, nil)
	}
}
