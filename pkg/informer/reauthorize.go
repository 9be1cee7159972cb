package informer

import "github.com/ambit-dev/ambit/pkg/informer/listwatch"

// Reauthorize turns on or off that informers notice by themselves that a right was taken
// away: the API server checks rights when a watch is opened, never again. While
// it is on, watches last 3 or 4 seconds, at random, and are then opened again where
// they were, which is refused if the right is gone. That needs no list; the informer
// stays Live and tells nobody. No more than Options.Reopens of them end in a
// second: with more informers than that allows they last longer, 10 seconds for
// 600 informers with 60. While it is off they last as long as client-go asks for, 5
// to 10 minutes.
//
// Of several Sets that share informers one is enough that has it on. Turning it on also ends the watches that are open, spread over the same time.
// It never blocks on I/O.
func (s *Set) Reauthorize(on bool) {
	s.mu.Lock()
	s.reauthorize = on
	on, isNew := s.setReauthorizeLocked()
	s.mu.Unlock()
	if !isNew || !on {
		return
	}
	for _, st := range s.allStreams(func(Key) bool { return true }) {
		st.withListWatcher((*listwatch.ListWatcher).LimitOpenWatch)
	}
}

// CountReopened returns how many watches were opened again where they were, without a
// list, for whatever reason the one before had ended.
func (s *Set) CountReopened() uint64 { return s.env.requests.Reopened() }

// ExpireWatches opens the watches that match again where they are, as Reauthorize does, once:
// call it when their right may be gone and nobody can say for which of them. It
// takes 2 to 3 seconds, longer with more informers than Options.Reopens. For an informer
// that is being opened, which may have been permitted before, that begins when its
// watch is open and its list is in; one that will be opened again by itself soon is
// left alone. match is called with no lock held and must not block. Expire never
// blocks on I/O.
func (s *Set) ExpireWatches(match func(Key) bool) {
	for _, st := range s.allStreams(match) {
		st.withListWatcher((*listwatch.ListWatcher).ExpireWatch)
	}
}

// RevokeInformers closes informers whose right was taken away: call it with proof, such as
// the answer of an access review, where the open watch itself would go on. Every
// informer for which match is true and that is not refused already is Forbidden when
// Revoke returns, with err as the reason: its connection is being closed, its store
// is dropped without a Deleted for anything, and its handlers have been told
// StateChanged, in this goroutine. Like any Forbidden informer it is tried again
// after its backoff, or on Retry.
//
// An informer that is refused already keeps its state; if it is being tried again
// just now, that attempt is given up, because its answer may be older than the
// proof. An informer that is first needed during the call is left alone.
//
// An informer that shares its stream with one that matches is closed with it. match is called with no lock held and must
// not block; err must not be nil.
// Revoke never blocks on I/O.
func (s *Set) RevokeInformers(match func(Key) bool, err error) {
	v := listwatch.Classification{Class: listwatch.Forbidden, Reason: string(Forbidden), Err: err}
	for _, st := range s.allStreams(match) {
		st.revokeEpoch(v)
	}
}
