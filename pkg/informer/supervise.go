package informer

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// begin starts an epoch, which end ends. A refused stream keeps its state until
// there is another answer: its subscribers see no flapping.
func (st *stream) begin(end context.CancelFunc) uint64 {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.end, st.open, st.lived = end, false, false
	if !st.stopped {
		st.status.Epoch = st.owner.epochs.Add(1)
	}
	return st.status.Epoch
}

// accepted notes that a list was answered.
func (st *stream) accepted(epoch uint64) {
	st.owner.reached()
	st.transition(epoch, func() {
		if st.status.State != Live && st.status.State != Degraded {
			st.enter(Starting)
		}
	})
}

// opened notes that a watch is open; initial: it brings a list first.
func (st *stream) opened(epoch uint64, initial bool) {
	st.owner.reached()
	st.transition(epoch, func() {
		st.open = true
		switch {
		case !st.store.synced:
			st.enter(Starting)
		case !initial:
			st.enter(Live)
		}
	})
}

// listed takes a complete list in, together with what it makes of the state. It
// says whether the epoch is still the one.
func (st *stream) listed(epoch uint64, objects []*unstructured.Unstructured, resourceVersion string) bool {
	st.mu.Lock()
	if st.stopped || st.status.Epoch != epoch {
		st.mu.Unlock()
		return false
	}
	first, before := !st.store.synced, st.status.State
	changes := st.store.replace(objects, resourceVersion)
	st.fit()
	st.status.Synced = true
	if st.open {
		st.enter(Live)
	}
	after := st.status
	changed := announced(before, after.State)
	st.mu.Unlock()
	if changed && before != Probing && before != Starting {
		st.log(before, after)
	}
	switch {
	case first:
		st.tellAll(Synced)
	case changed:
		st.tellAll(StateChanged)
	}
	for _, c := range changes {
		st.tell(epoch, c, nil)
	}
	return true
}

// degrade notes that the API server cannot be reached or is busy. A refused
// stream stays refused.
func (st *stream) degrade(epoch uint64, reason string, err error) {
	st.degradeIf(epoch, func() bool { return true }, reason, err)
}

// degradeIf is degrade if that still holds; holds is called with mu held, so that what
// comes after it, such as the answer, comes after this.
func (st *stream) degradeIf(epoch uint64, holds func() bool, reason string, err error) {
	st.transition(epoch, func() {
		if !holds() {
			return
		}
		st.open = false
		if st.status.State.Final() {
			return
		}
		st.enter(Degraded)
		st.explain(reason, err)
	})
}

// refuse ends an epoch: the store is dropped, without a Deleted for anything.
func (st *stream) refuse(epoch uint64, v verdict) {
	st.transition(epoch, func() {
		st.open = false
		if v.state == Degraded && st.status.State.Final() {
			return
		}
		st.drop(v)
	})
}

// drop empties the stream for a reason; mu is held.
func (st *stream) drop(v verdict) {
	st.store.reset()
	st.shared.forget() // nothing stays that was read under a right that is gone
	st.status.Synced = false
	st.enter(v.state)
	st.explain(v.reason, v.err)
}

// transition changes the state in an epoch, and tells and logs if that is worth
// it.
func (st *stream) transition(epoch uint64, do func()) {
	st.alter(func() {
		if st.status.Epoch == epoch {
			do()
		}
	})
}

// alter is transition for whatever epoch the stream is in.
func (st *stream) alter(do func()) {
	st.mu.Lock()
	if st.stopped {
		st.mu.Unlock()
		return
	}
	before := st.status.State
	do()
	after := st.status
	st.mu.Unlock()
	if !announced(before, after.State) {
		return
	}
	st.log(before, after)
	st.tellAll(StateChanged)
}

// log is for people: a stream came into trouble, or out of it.
func (st *stream) log(before State, after Status) {
	st.owner.options.Logger.Info("stream changed", "stream", st.key.String(),
		"from", before, "to", after.State, "reason", after.Reason, "message", after.Message)
}

// announced says whether subscribers are told of a change of state.
func announced(before, after State) bool {
	return before != after && after != Probing && after != Starting
}

// enter changes the state; mu is held.
func (st *stream) enter(state State) {
	if st.status.State == state {
		return
	}
	st.status.State, st.status.Since = state, st.now()
	st.lived = st.lived || state == Live
	st.explain("", nil)
}

// explain says why the state is what it is; mu is held.
func (st *stream) explain(reason string, err error) {
	st.status.Reason, st.status.Err, st.status.Message = reason, err, ""
	if err != nil {
		st.status.Message = err.Error()
	}
}

// wasLive says whether the stream is or was Live in its epoch, the last one that
// began.
func (st *stream) wasLive() bool {
	st.mu.RLock()
	defer st.mu.RUnlock()
	return st.lived
}

// backoff is how long to wait before the next epoch.
func (st *stream) backoff(v verdict, refusals int) time.Duration {
	switch {
	case v.state == Missing:
		return st.owner.options.Lookup(refusals)
	case v.state.Final():
		return st.owner.options.Retry(refusals)
	}
	return st.owner.options.Reconnect(refusals)
}

// selectors puts the key's selectors into a request.
func (st *stream) selectors(opts *metav1.ListOptions) {
	opts.LabelSelector, opts.FieldSelector = st.key.LabelSelector, st.key.FieldSelector
}
