package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/plan/claims"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// reviewEntries says of each entry that no child wants whether it stays, and finds what
// it stands for.
func (p *pruner) reviewEntries() {
	for _, e := range p.inventory.Entries {
		if !p.inventory.IsEntered(e) && p.entryStays(e) {
			p.inventory.Next = append(p.inventory.Next, e)
		}
	}
}

// entryStays says whether an unwanted entry stays: as long as there is, or may be,
// something of ours behind it.
func (p *pruner) entryStays(e inventory.Entry) bool {
	if p.inventory.IsWaiting(e) {
		return true
	}
	in := p.inputAt(p.locationOf(e), e.GVK)
	w, named := p.names.findWanted(e.ObjectKey())
	switch {
	case in.Blocked != nil:
		p.suspended.SuspendKind(e.GVK, unseenText(e.GVK, in.Blocked))
		return true
	case e.IsPlace():
		return p.undecidedChild(e.GVK.GroupKind()) != nil || p.holdsUnwanted(e, in)
	case named && e.Merged == (w.instance.ownership == mergedInto):
		return w.instance.live != nil && w.instance.ownership != ownedByReference
	}
	obj := p.indexes.FindObject(in.Objects, e.Namespace, e.Name)
	if named && !e.Merged { // it was to be made, and is now to be merged into: what was made stays as it is
		return obj != nil && p.isEntered(e, obj)
	}
	undecided := p.undecidedChild(e.GVK.GroupKind())
	if named {
		undecided = nil
	}
	switch {
	case undecided != nil && p.isOwnSite(inventory.SiteOf(e)) && (obj == nil || !p.isEntered(e, obj)) && (p.hasRoom() || !inventory.IsReadFirst(p.program, e)):
		p.suspended.SuspendUnseen(e.GVK)
		return true // perhaps it is wanted; another process may just have made it, or merged into it
	case obj == nil || !p.isEntered(e, obj):
		return false
	case undecided != nil:
		p.suspendObject(e.GVK, obj, undecided)
		return true
	case p.isLeft(e, obj):
		return false
	}
	p.addCandidate(e.GVK, obj, &e)
	return true
}

// hasRoom reports whether there is room for entries of objects that are not seen: those that are wanted
// are at most half of what a record holds.
func (p *pruner) hasRoom() bool { return len(p.inventory.Next) < inventory.MaxEntries/2 }

// holdsUnwanted says whether there is an object of ours in a place that no child makes.
func (p *pruner) holdsUnwanted(e inventory.Entry, in Input) bool {
	return slices.ContainsFunc(p.indexes.ObjectsIn(in.Objects, e.Namespace), func(obj *unstructured.Unstructured) bool {
		if obj.GetNamespace() != e.Namespace || !claims.IsControlled(obj, p.owner) {
			return false
		}
		w, ok := p.names.findWanted(keyOfObject(e.GVK, obj))
		return !ok || w.instance.ownership == mergedInto
	})
}
