package informer

import (
	"time"

	"github.com/ambit-dev/ambit/pkg/informer/listwatch"
)

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

// reportError calls the hooks. No lock may be held.
func (st *sharedInformer) reportError(v listwatch.Classification, action Action, wait time.Duration) {
	if st.env.onWatchError != nil {
		st.env.onWatchError(st, WatchError{Key: st.key, Err: v.Err, Reason: v.Reason, Class: State(v.Class), Action: action, Wait: wait})
	}
}
