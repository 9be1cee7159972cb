package informer

// Revoke closes streams whose right was taken away: call it with proof, such as
// the answer of an access review, where the open watch itself would go on. Every
// stream for which match is true and that is not refused already is Forbidden when
// Revoke returns, with err as the reason: its connection is being closed, its store
// is dropped without a Deleted for anything, and its subscribers have been told
// StateChanged, in this goroutine. Like any Forbidden stream it is tried again
// after its backoff, or on Retry.
//
// A stream that is refused already keeps its state; if it is being tried again
// just now, that attempt is given up, because its answer may be older than the
// proof. A stream that somebody comes to need during the call is not looked at.
//
// match is called with no lock held and must not block; err must not be nil.
// Revoke never blocks on I/O.
func (s *Set) Revoke(match func(Key) bool, err error) {
	v := verdict{state: Forbidden, reason: string(Forbidden), err: err}
	for _, st := range s.all() {
		if match(st.key) {
			st.revoke(v)
		}
	}
}

// revoke ends the epoch that is under way. Another number makes all that still
// comes from it too late.
func (st *stream) revoke(v verdict) {
	st.alter(func() {
		st.status.Epoch = st.owner.epochs.Add(1)
		st.open = false
		if st.end != nil {
			st.end()
		}
		if !st.status.State.Final() {
			st.drop(v)
		}
	})
}
