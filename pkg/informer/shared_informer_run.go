package informer

import (
	"context"

	"github.com/ambit-dev/ambit/pkg/informer/listwatch"
)

// runEpochs is the informer's goroutine: epoch after epoch until ctx ends or the informer
// is stopped.
func (st *sharedInformer) runEpochs(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer st.stopInformer()
	if !st.setCancel(cancel) {
		return
	}
	refusals := 0
	for ctx.Err() == nil {
		e, v := st.runEpoch(ctx)
		if ctx.Err() != nil {
			return
		}
		if st.wasLive() {
			refusals = 0
		}
		refusals++
		e.closeEpoch(v)
		wait := st.env.epochBackoff(v.Class, refusals)
		st.reportClosed(v, wait)
		st.waitOrWake(ctx, wait)
	}
}

func (st *sharedInformer) setCancel(cancel context.CancelFunc) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.cancel = cancel
	return !st.stopped
}

// runEpoch runs one epoch. It returns the epoch and what ended it. After the end of ctx
// that means nothing.
func (st *sharedInformer) runEpoch(ctx context.Context) (*epoch, listwatch.Classification) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	e := st.beginEpoch(end)
	source, err := st.connectSource()
	if err != nil {
		return e, listwatch.Classification{Class: listwatch.Degraded, Reason: "NoClient", Err: err}
	}
	e.listWatcher = st.env.requests.NewListWatcher(listwatch.Config{
		Source: source, Resource: st.key.GVR.Resource,
		LabelSelector: st.key.LabelSelector, FieldSelector: st.key.FieldSelector,
		Epoch: e, Wait: st.waitOrWake, OnFailure: st.reportFailure,
		Logger: st.env.options.Logger.WithValues("stream", st.key.String()),
	})
	st.setListWatcher(e.listWatcher)
	if refusal := e.listWatcher.RunUntilRefused(ctx, e.reflectorStore()); refusal != nil {
		return e, *refusal
	}
	return e, listwatch.Classification{Class: listwatch.Forbidden} // by revoke
}

// beginEpoch starts an epoch, which end ends. A refused informer keeps its state until
// there is another answer: its handlers see no flapping.
func (st *sharedInformer) beginEpoch(end context.CancelFunc) *epoch {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.endEpoch, st.watchOpen, st.hasBeenLive = end, false, false
	if !st.stopped {
		st.status.Epoch = st.env.epochs.Add(1)
	}
	return &epoch{informer: st, number: st.status.Epoch}
}

// setListWatcher sets the list-watcher of the present epoch.
func (st *sharedInformer) setListWatcher(w *listwatch.ListWatcher) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.listWatcher = w
}

// withListWatcher calls do with the list-watcher of the informer's epoch, if there is one.
func (st *sharedInformer) withListWatcher(do func(*listwatch.ListWatcher)) {
	st.mu.RLock()
	w := st.listWatcher
	st.mu.RUnlock()
	if w != nil {
		do(w)
	}
}

// revokeEpoch ends the epoch that is under way. Another number makes all that still
// comes from it too late.
func (st *sharedInformer) revokeEpoch(v listwatch.Classification) {
	st.changeState(func() {
		st.status.Epoch = st.env.epochs.Add(1)
		st.watchOpen = false
		if st.endEpoch != nil {
			st.endEpoch()
		}
		if !st.status.State.IsFinal() {
			st.closeStore(v)
		}
	})
}

// wasLive reports whether the informer is or was Live in its epoch, the last one that
// began.
func (st *sharedInformer) wasLive() bool {
	st.mu.RLock()
	defer st.mu.RUnlock()
	return st.hasBeenLive
}
