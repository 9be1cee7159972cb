package informer

import "time"

// WatchError is a list or a watch that failed, and what the informer does next.
// client-go's own handler is not told of all of them: not of an expired
// resourceVersion (410), a busy API server (429) or a refused connection.
type WatchError struct {
	// Key is that of the informer.
	Key Key
	// Err is the answer of the API server, or what came in its place. Never nil.
	Err error
	// Reason is a CamelCase word for Err, as in Status.
	Reason string
	// Class is the state that Err leads to: a final one if the API server refuses,
	// Degraded if the error passes by itself. It is empty if the state stays as it
	// is, as after an expired resourceVersion. A refused informer stays refused while
	// its attempts fail with errors that pass.
	Class State
	// Action is what the informer does next.
	Action Action
	// Wait is how long it waits before that. Set.Retry ends the wait, and so does an
	// answer to another informer after an outage.
	Wait time.Duration
}

// Action is what an informer does after a failed list or watch.
type Action string

const (
	// ActionRetry: the request is sent again. A watch goes on where it was, without a
	// list, and the objects stay.
	ActionRetry Action = "Retry"
	// ActionRelist: everything is listed again and compared with the objects that are
	// there, which stay until then.
	ActionRelist Action = "Relist"
	// ActionClose: the objects are dropped, without a Deleted for any. Later the
	// informer begins anew.
	ActionClose Action = "Close"
)

// reportError calls the hook. No lock may be held.
func (st *sharedInformer) reportError(e WatchError) {
	if hook := st.set.options.OnWatchError; hook != nil {
		e.Key = st.key
		hook(e)
	}
}

// reportClosed reports the error that ended an epoch. Set.Revoke ends one without.
func (st *sharedInformer) reportClosed(v classification, wait time.Duration) {
	if v.err != nil {
		st.reportError(WatchError{Err: v.err, Reason: v.reason, Class: v.state, Action: ActionClose, Wait: wait})
	}
}

// reportError reports an error that does not end the epoch: the informer's run reports the one
// that does, since it knows how long the informer waits then.
func (o *listerWatcher) reportError(v classification, action Action) {
	if v.state.Final() {
		return
	}
	o.informer.reportError(WatchError{Err: v.err, Reason: v.reason, Class: v.state, Action: action, Wait: o.nextDelay()})
}
