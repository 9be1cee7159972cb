package informer

import "slices"

// Require declares exactly what a handler needs from now on: informers that are
// missing are started, those that nobody needs any more are stopped, and what
// was needed before and still is goes on untouched. No needs release everything.
// It never blocks on I/O.
//
// The listers are in the order of needs and belong to the caller. An informer that
// is synced already does not announce that again: look at the lister.
func (s *Set) Require(sub EventHandler, needs []Interest) []Lister {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.required[sub]
	if slices.EqualFunc(old, needs, Lister.isFor) {
		return slices.Clone(old)
	}
	next := make([]Lister, len(needs))
	for i, need := range needs {
		next[i] = s.requireLocked(sub, need, old, next[:i])
	}
	for i, view := range old {
		if !slices.Contains(next, view) && !slices.Contains(old[:i], view) {
			s.releaseLocked(sub, view)
		}
	}
	if len(next) == 0 {
		delete(s.required, sub)
		return nil
	}
	s.required[sub] = next
	return slices.Clone(next)
}

// requireLocked returns the lister for one need, and attaches the handler unless
// one of the listers it has says that it is.
func (s *Set) requireLocked(sub EventHandler, need Interest, old, next []Lister) Lister {
	st, ok := s.informers[need.Key]
	if !ok {
		st = s.addInformerLocked(need)
	}
	view := Lister{informer: st, subset: need.objectSubset()}
	if !slices.Contains(old, view) && !slices.Contains(next, view) {
		st.addHandler(sub, view.subset)
	}
	return view
}

func (s *Set) addInformerLocked(need Interest) *sharedInformer {
	st := newSharedInformer(s.env, need)
	s.informers[need.Key] = st
	if s.ended {
		st.stopInformer()
		return st
	}
	s.unstarted = append(s.unstarted, st)
	select {
	case s.wakeStart <- struct{}{}:
	default: // Start will look anyway
	}
	return st
}

// releaseLocked detaches a handler; the last one stops the informer. A need of
// the same key after that makes another informer.
func (s *Set) releaseLocked(sub EventHandler, view Lister) {
	st := view.informer
	if st.removeHandler(sub, view.subset) > 0 {
		return
	}
	delete(s.informers, st.key)
	s.unstarted = slices.DeleteFunc(s.unstarted, func(u *sharedInformer) bool { return u == st })
	st.stopInformer()
}
