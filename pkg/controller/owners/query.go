package owners

import (
	"iter"
	"maps"

	"k8s.io/apimachinery/pkg/types"
)

// PhaseOf returns where an owner is in its life.
func (x *Index[W]) PhaseOf(name types.NamespacedName) Phase {
	if r, ok := x.records[name]; ok {
		return r.currentPhase()
	}
	return Unknown
}

// CountKnown returns of how many owners something is known.
func (x *Index[W]) CountKnown() int { return len(x.records) }

// CountOwners returns how many owners there are.
func (x *Index[W]) CountOwners() Counts { return x.counts }

// WorkOf returns what is remembered of an owner that is worked on, and its uid; nil: it is
// not.
func (x *Index[W]) WorkOf(name types.NamespacedName) (*W, types.UID) {
	if r, ok := x.records[name]; ok {
		return r.work, r.uid
	}
	return nil, ""
}

// IsWorking reports whether an owner is worked on.
func (x *Index[W]) IsWorking(name types.NamespacedName) bool {
	work, _ := x.WorkOf(name)
	return work != nil
}

// WorkingOwners goes through the owners that are worked on, in no order.
func (x *Index[W]) WorkingOwners() iter.Seq2[types.NamespacedName, *W] {
	return func(yield func(types.NamespacedName, *W) bool) {
		for name, r := range x.records {
			if r.work != nil && !yield(name, r.work) {
				return
			}
		}
	}
}

// WorkingIn returns how many owners of a namespace are worked on.
func (x *Index[W]) WorkingIn(namespace string) int { return x.working[namespace] }

// BusyNamespaces goes through the namespaces of owners that are worked on, or inherited; some more
// than once, and in no order.
func (x *Index[W]) BusyNamespaces() iter.Seq[string] {
	return func(yield func(string) bool) {
		for namespace := range x.working {
			if !yield(namespace) {
				return
			}
		}
		for name, r := range x.records {
			if r.inherited != "" && !yield(name.Namespace) {
				return
			}
		}
	}
}

// IsInspected reports whether it is still to be found out if something of an unwanted owner is
// ours.
func (x *Index[W]) IsInspected(name types.NamespacedName) bool {
	r, ok := x.records[name]
	return ok && r.unwanted != nil && !r.unwanted.looked
}

// IsBlindWith reports whether Blind was called for an owner with these rights.
func (x *Index[W]) IsBlindWith(name types.NamespacedName, rights any) bool {
	r, ok := x.records[name]
	return ok && r.unwanted != nil && r.unwanted.blind == rights
}

// BlindOwners goes through the owners of which not all could be looked at, in no order.
func (x *Index[W]) BlindOwners() iter.Seq[types.NamespacedName] {
	return func(yield func(types.NamespacedName) bool) {
		for name, r := range x.records {
			if r.unwanted != nil && r.unwanted.blind != nil && !yield(name) {
				return
			}
		}
	}
}

// CountUnseen returns how many owners are inherited and not worked on.
func (x *Index[W]) CountUnseen() (n int) {
	for _, r := range x.records {
		if r.inherited != "" && r.work == nil {
			n++
		}
	}
	return n
}

// OwnersOutOfSight goes through the owners that no stream of owners brings up: those to be looked at
// because an older revision worked on them, and those that are missing; in no order.
func (x *Index[W]) OwnersOutOfSight() iter.Seq[types.NamespacedName] {
	return func(yield func(types.NamespacedName) bool) {
		for name, r := range x.records {
			if (r.inherited != "" || r.missing != nil && r.work == nil) && !yield(name) {
				return
			}
		}
	}
}

// DropUnseen drops what is known of unwanted owners of whose namespaces no stream shows the
// owners, and returns those that hold something that is to be given back before: Forget drops
// them.
func (x *Index[W]) DropUnseen(isSeen func(namespace string) bool) (holding []types.NamespacedName) {
	for name, r := range x.records {
		switch {
		case r.unwanted == nil || isSeen(name.Namespace):
		case r.unwanted.looked:
			x.MarkWanted(name)
		default:
			holding = append(holding, name)
		}
	}
	return holding
}

// WorkedOwners returns what the next revision has to look at, with the uids: the owners that are
// worked on, missing, or still to be looked at by this one. The map is the caller's.
func (x *Index[W]) WorkedOwners() map[types.NamespacedName]types.UID {
	heritage := map[types.NamespacedName]types.UID{}
	for name, r := range x.records {
		switch {
		case r.work != nil:
			heritage[name] = r.uid
		case r.missing != nil:
			heritage[name] = r.missing.uid
		case r.inherited != "":
			heritage[name] = r.inherited
		}
	}
	return heritage
}

// TakeFindings takes over what another revision that makes the same kinds found out about
// unwanted owners of which nothing is ours: it is not to be found out again.
func (x *Index[W]) TakeFindings(before *Index[W]) {
	for name, r := range before.records {
		if u := r.unwanted; u != nil && !u.ours && (u.looked || u.blind != nil) {
			x.applyEvent(name, func(r *record[W]) { r.unwanted = u })
		}
	}
}

// TakeCleanedUp takes over which owners another revision has cleaned up after for good.
func (x *Index[W]) TakeCleanedUp(before *Index[W]) { maps.Copy(x.cleaned, before.cleaned) }
