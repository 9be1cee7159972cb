package informer

import "slices"

// Require declares exactly what a subscriber needs from now on: streams that are
// missing are started, those that nobody needs any more are stopped, and what
// was needed before and still is goes on untouched. No needs release everything.
// It never blocks on I/O.
//
// The views are in the order of needs and belong to the caller. A stream that
// is synced already does not announce that again: look at the view.
func (s *Set) Require(sub EventHandler, needs []Interest) []Lister {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.kept[sub]
	if slices.EqualFunc(old, needs, Lister.answers) {
		return slices.Clone(old)
	}
	next := make([]Lister, len(needs))
	for i, need := range needs {
		next[i] = s.needLocked(sub, need, old, next[:i])
	}
	for i, view := range old {
		if !slices.Contains(next, view) && !slices.Contains(old[:i], view) {
			s.releaseLocked(sub, view)
		}
	}
	if len(next) == 0 {
		delete(s.kept, sub)
		return nil
	}
	s.kept[sub] = next
	return slices.Clone(next)
}

// needLocked returns the view for one need, and attaches the subscriber unless
// one of the views it has says that it is.
func (s *Set) needLocked(sub EventHandler, need Interest, old, next []Lister) Lister {
	st, ok := s.streams[need.Key]
	if !ok {
		st = s.openLocked(need)
	}
	view := Lister{stream: st, part: partOf(need)}
	if !slices.Contains(old, view) && !slices.Contains(next, view) {
		st.subscribe(sub, view.part)
	}
	return view
}

func (s *Set) openLocked(need Interest) *stream {
	st := newStream(s, need)
	s.streams[need.Key] = st
	if s.ended {
		st.stop()
		return st
	}
	s.unstarted = append(s.unstarted, st)
	select {
	case s.wake <- struct{}{}:
	default: // Start will look anyway
	}
	return st
}

// releaseLocked detaches a subscriber; the last one stops the stream. A need of
// the same key after that makes another stream.
func (s *Set) releaseLocked(sub EventHandler, view Lister) {
	st := view.stream
	if st.unsubscribe(sub, view.part) > 0 {
		return
	}
	delete(s.streams, st.key)
	s.unstarted = slices.DeleteFunc(s.unstarted, func(u *stream) bool { return u == st })
	st.stop()
}
