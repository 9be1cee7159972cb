package owners

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Index knows the owners of one revision of a policy by their names. W is what the caller
// remembers of an owner while it works on it. An Index is made by New, and not safe for
// concurrent use.
//
// The methods that are named Mark, Record, Inherit, StartWork and StopWork are the events of an
// owner's life, as doc.go draws it.
type Index[W any] struct {
	records map[types.NamespacedName]*record[W]
	// working counts the owners that are worked on, by namespace.
	working map[string]int
	counts  Counts
	// cleaned are the owners that were cleaned up after for good.
	cleaned map[types.UID]bool
}

// Counts says how many owners there are: Working are worked on, Inherited still to be looked at
// because an older revision worked on them, Missing gone from the stream of owners. An owner
// may be among each of them.
type Counts struct{ Working, Inherited, Missing int }

// New returns an Index without owners.
func New[W any]() *Index[W] {
	return &Index[W]{records: map[types.NamespacedName]*record[W]{}, working: map[string]int{}, cleaned: map[types.UID]bool{}}
}

// applyEvent is the one way to change what is known of an owner.
func (x *Index[W]) applyEvent(name types.NamespacedName, event func(r *record[W])) {
	r, ok := x.records[name]
	if !ok {
		r = &record[W]{}
	}
	before := *r
	event(r)
	if worked := countDifference(before.work != nil, r.work != nil); worked != 0 {
		x.counts.Working += worked
		if x.working[name.Namespace] += worked; x.working[name.Namespace] == 0 {
			delete(x.working, name.Namespace)
		}
	}
	x.counts.Inherited += countDifference(before.inherited != "", r.inherited != "")
	x.counts.Missing += countDifference(before.missing != nil, r.missing != nil)
	switch {
	case r.isEmpty():
		delete(x.records, name)
	case !ok:
		x.records[name] = r
	}
}

// countDifference is what a count changes by when a fact does.
func countDifference(before, now bool) int {
	switch {
	case before == now:
		return 0
	case now:
		return 1
	}
	return -1
}

// InheritOwner says that an older revision worked on an owner. It is ignored if this one does.
func (x *Index[W]) InheritOwner(name types.NamespacedName, uid types.UID) {
	x.applyEvent(name, func(r *record[W]) {
		if r.work == nil {
			r.inherited = uid
		}
	})
}

// MarkLookedAt says that this revision has looked at an owner: it has declared what it needs for it.
func (x *Index[W]) MarkLookedAt(name types.NamespacedName) {
	x.applyEvent(name, func(r *record[W]) { r.inherited = "" })
}

// StartWork says that the owner of this uid is worked on from here on, and what is remembered for
// that. It may be another owner than before.
func (x *Index[W]) StartWork(name types.NamespacedName, uid types.UID, work *W) {
	x.applyEvent(name, func(r *record[W]) { r.uid, r.work = uid, work })
}

// MarkWanted says that the policy wants the owner, or that it is gone: it is not unwanted.
func (x *Index[W]) MarkWanted(name types.NamespacedName) {
	x.applyEvent(name, func(r *record[W]) { r.unwanted = nil })
}

// MarkUnwanted says that the policy does not want an owner that is there, and returns its phase:
// CleaningUp, Clean, Inspected or Blind, or that of one that is missing. With isNew it is
// younger than all work of the policy, so that nothing of ours can be there.
func (x *Index[W]) MarkUnwanted(name types.NamespacedName, uid types.UID, isNew bool) Phase {
	x.applyEvent(name, func(r *record[W]) {
		if r.unwanted == nil || r.unwanted.uid != uid {
			r.unwanted = &unwanted{uid: uid, looked: isNew}
		}
	})
	return x.PhaseOf(name)
}

// RecordInspection says what was found of an unwanted owner's children.
func (x *Index[W]) RecordInspection(name types.NamespacedName, uid types.UID, ours bool) {
	x.applyEvent(name, func(r *record[W]) { r.unwanted = &unwanted{uid: uid, looked: true, ours: ours} })
}

// RecordBlind says that with these rights, which are not nil, not all children of an unwanted owner
// may be looked at.
func (x *Index[W]) RecordBlind(name types.NamespacedName, uid types.UID, rights any) {
	x.applyEvent(name, func(r *record[W]) { r.unwanted = &unwanted{uid: uid, blind: rights} })
}

// MarkMissing says that the stream of owners does not show an owner, and returns the uid that it had,
// and the owner as Find was given it; nil before. False: nobody has worked on it.
func (x *Index[W]) MarkMissing(name types.NamespacedName) (uid types.UID, found *unstructured.Unstructured, ok bool) {
	x.applyEvent(name, func(r *record[W]) {
		switch {
		case r.missing != nil:
		case r.work != nil:
			r.missing = &missing{uid: r.uid}
		case r.inherited != "":
			r.missing = &missing{uid: r.inherited}
		}
		if r.missing != nil {
			uid, found, ok = r.missing.uid, r.missing.found, true
		}
	})
	return uid, found, ok
}

// MarkParentMissing says that there is a child of an owner that the stream of owners does not show. It
// is ignored if the owner is worked on, or missing anyhow.
func (x *Index[W]) MarkParentMissing(name types.NamespacedName, uid types.UID) {
	x.applyEvent(name, func(r *record[W]) {
		if r.work == nil && r.missing == nil {
			r.missing = &missing{uid: uid}
		}
	})
}

// RecordFound says that a missing owner is there, and not wanted.
func (x *Index[W]) RecordFound(name types.NamespacedName, owner *unstructured.Unstructured) {
	x.applyEvent(name, func(r *record[W]) { r.missing = &missing{uid: owner.GetUID(), found: owner} })
}

// MarkVisible says that an owner is not missing, or not looked for any more, and reports whether it
// was.
func (x *Index[W]) MarkVisible(name types.NamespacedName) (was bool) {
	x.applyEvent(name, func(r *record[W]) { was, r.missing = r.missing != nil, nil })
	return was
}

// RecordCleanedUp says that nothing is left of what is ours for an owner that is not wanted. With
// forGood, nothing comes after that, whatever the owner's name.
func (x *Index[W]) RecordCleanedUp(name types.NamespacedName, uid types.UID, forGood bool) {
	if forGood {
		x.cleaned[uid] = true
		return
	}
	x.RecordInspection(name, uid, false)
}

// IsCleanedUp reports whether an owner was cleaned up after for good.
func (x *Index[W]) IsCleanedUp(uid types.UID) bool { return x.cleaned[uid] }

// Released is what there was of an owner that is not worked on any more.
type Released struct {
	// Worked: it was worked on. Last: no other one of its namespace is. Inherited: it was still
	// to be looked at. Inspected: as IsInspected said.
	Worked, Last, Inherited, Inspected bool
}

// StopWork ends the work on an owner. What is known of an unwanted one stays if it is seen, that
// is, if a stream shows the owners of its namespace; that it is to be looked at stays if the
// policy is halted.
func (x *Index[W]) StopWork(name types.NamespacedName, isSeen, isHalted bool) (was Released) {
	x.applyEvent(name, func(r *record[W]) {
		was = Released{Worked: r.work != nil, Inherited: r.inherited != "", Inspected: r.unwanted != nil && !r.unwanted.looked}
		r.work, r.uid = nil, ""
		if !isHalted {
			r.inherited = ""
		}
		if r.missing != nil || !isSeen {
			r.unwanted = nil
		}
	})
	was.Last = was.Worked && x.working[name.Namespace] == 0
	return was
}
