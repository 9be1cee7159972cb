package informer

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/informer/objectstore"
)

// Lister answers for one Interest from the store of its informer. Listers are comparable
// and safe for concurrent use; a lister of an informer that has ended says so and is
// empty. The zero Lister is one. Objects are shared with everybody: they must not
// be changed.
type Lister struct {
	informer *sharedInformer
	subset   objectstore.Subset
}

// Status says how the informer is.
func (v Lister) Status() Status {
	if v.informer == nil {
		return Status{State: Stopped}
	}
	v.informer.mu.RLock()
	defer v.informer.mu.RUnlock()
	return v.informer.status
}

// State is Status().State.
func (v Lister) State() State { return v.Status().State }

// Synced is Status().Synced: List is complete, as of some moment.
func (v Lister) Synced() bool { return v.Status().Synced }

// List returns the objects of the need, in no order. The slice belongs to the
// caller.
func (v Lister) List() []*unstructured.Unstructured {
	objects, _ := v.Read()
	return objects
}

// Read is List and Status at one moment: with Status.Synced the list is
// complete, even if the informer is refused right after.
func (v Lister) Read() ([]*unstructured.Unstructured, Status) {
	if v.informer == nil {
		return nil, Status{State: Stopped}
	}
	v.informer.mu.RLock()
	defer v.informer.mu.RUnlock()
	return v.informer.store.ListSubset(v.subset), v.informer.status
}

// Get returns one object of the need, or nil.
func (v Lister) Get(namespace, name string) *unstructured.Unstructured {
	if v.informer == nil {
		return nil
	}
	v.informer.mu.RLock()
	defer v.informer.mu.RUnlock()
	return v.informer.store.GetObject(v.subset, types.NamespacedName{Namespace: namespace, Name: name})
}

// isFor reports whether the lister is the one for a need.
func (v Lister) isFor(need Interest) bool {
	return v.informer.key == need.Key && v.informer.storage == need.Storage && v.subset == need.objectSubset()
}

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
	if s.ended {
		return next
	}
	s.required[sub] = next
	return slices.Clone(next)
}

// requireLocked returns the lister for one need, and attaches the handler unless
// one of the listers it has says that it is.
func (s *Set) requireLocked(sub EventHandler, need Interest, old, next []Lister) Lister {
	if s.ended {
		st := newSharedInformer(s.env, need)
		st.stopInformer()
		return Lister{informer: st, subset: need.objectSubset()}
	}
	st, ok := s.informers[informerKey{need.Key, need.Storage}]
	if !ok {
		st = s.addInformerLocked(need)
	}
	view := Lister{informer: st, subset: need.objectSubset()}
	if !slices.Contains(old, view) && !slices.Contains(next, view) {
		st.addHandler(sub, view.subset)
		s.uses[st]++
	}
	if !ok {
		s.feedInformerLocked(st)
	}
	return view
}

// releaseLocked detaches a handler; the last one stops the informer. A need of
// the same key after that makes another informer.
func (s *Set) releaseLocked(sub EventHandler, view Lister) {
	st := view.informer
	if s.uses[st]--; s.uses[st] <= 0 {
		delete(s.uses, st)
	}
	if st.removeHandler(sub, view.subset) == 0 {
		s.removeInformerLocked(st)
	}
}
