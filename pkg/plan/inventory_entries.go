package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// inventoryPlanner says what the inventory has to hold, and the owner's metadata with it.
type inventoryPlanner struct{ *planner }

// enterAll says what the inventory has to hold of the wanted objects.
func (p *inventoryPlanner) enterAll() {
	if p.ensures || p.inventory.Err != nil || p.tokenSecret() == "" {
		return
	}
	for i := range p.children {
		c := &p.children[i]
		for k := range c.instances {
			if it := &c.instances[k]; it.desired != nil {
				p.enterInstance(c, it)
			}
		}
	}
}

// enterInstance says what the inventory has to hold of one wanted object.
func (p *inventoryPlanner) enterInstance(c *child, it *instance) {
	key := keyOfInstance(c, it)
	old, has := p.inventory.entry(key)
	switch {
	case it.ownership == ownedByReference:
		p.enterControlled(c, it, old, has)
	case has && old.Merged != (it.ownership == mergedInto), p.inventory.covered[key]:
		// The entry of the other kind goes first.
	case it.problem != nil:
		if has && (it.found == nil || it.live != nil) {
			p.inventory.cover(old)
		}
	case it.ownership == mergedInto && (it.live == nil || isDeleting(it.live)):
		if has { // what is not seen may be younger than the view
			p.inventory.cover(old)
		}
	default:
		e := inventory.Entry{Child: c.ID, GVK: c.GVK, Namespace: it.at.Namespace, Name: it.state.Name, Merged: it.ownership == mergedInto,
			Orphan: c.OnDelete == v1alpha1.DeleteOrphan, Rank: p.rank(c)}
		if it.live != nil {
			e.UID = it.live.GetUID()
		}
		if has && it.ownership == ownedByInventory {
			p.keepTokenChild(&e, old, c, it)
		}
		p.inventory.cover(e)
	}
}

// keepTokenChild has the new entry of an object name the child that its claim names: that stays
// when the child gets another id, as record and object are not written at once. Of one that
// is never written again, because apply is Create or Recreate, it also says so if the claim
// says that it is left behind.
func (p *inventoryPlanner) keepTokenChild(e *inventory.Entry, old inventory.Entry, c *child, it *instance) {
	if id := old.ChildInToken(); id != c.ID {
		e.TokenChild = id
	}
	if it.live != nil && c.isKept() {
		orphan, _ := p.proofOf(old, it.live)
		e.Orphan = e.Orphan || orphan
	}
}

// enterControlled notes where an object with an ownerReference is, if that need not
// be the owner's namespace, and keeps the entry of one that has none yet.
func (p *inventoryPlanner) enterControlled(c *child, it *instance, old inventory.Entry, has bool) {
	if c.CrossNamespace && it.at.Namespace != "" {
		p.inventory.coverPlace(inventory.Entry{Child: c.ID, GVK: c.GVK, Namespace: it.at.Namespace, Rank: p.rank(c)})
	}
	if !has || old.Merged {
		return
	}
	if p.inputAt(it.at, c.GVK).Blocked != nil || it.live != nil && !IsOurs(it.live, p.owner) {
		old.Orphan = it.live != nil && c.isKept() && p.isLeft(old, it.live) // else, until then, only we remove it
		p.inventory.cover(old)
	}
}

// reviewEntries says of each entry that no child wants whether it stays, and finds what
// it stands for.
func (p *pruner) reviewEntries() {
	for _, e := range p.inventory.Entries {
		if !p.inventory.isCovered(e) && p.entryStays(e) {
			p.inventory.next = append(p.inventory.next, e)
		}
	}
}

// entryStays says whether an unwanted entry stays: as long as there is, or may be,
// something of ours behind it.
func (p *pruner) entryStays(e inventory.Entry) bool {
	if p.inventory.waits(e) {
		return true
	}
	in := p.inputAt(p.atOf(e), e.GVK)
	w, named := p.names.find(e.ObjectKey())
	switch {
	case in.Blocked != nil:
		p.suspended.forBlocked(e.GVK, in.Blocked)
		return true
	case e.IsPlace():
		return p.undecided(e.GVK.GroupKind()) != nil || p.holdsUnwanted(e, in)
	case named && e.Merged == (w.item.ownership == mergedInto):
		return w.item.live != nil && w.item.ownership != ownedByReference
	case named && !e.Merged: // it was made here, and is now to be merged into: it stays as it is
		return true
	}
	obj := p.indexes.find(in.Objects, e.Namespace, e.Name)
	undecided := p.undecided(e.GVK.GroupKind())
	if named {
		undecided = nil
	}
	switch {
	case undecided != nil && !isReadFirst(p.program, e) && p.isOwnSite(siteOf(e)) && (obj == nil || !p.isEntered(e, obj)):
		return true // another process may just have made it, or merged into it
	case obj == nil || !p.isEntered(e, obj):
		return false
	case undecided != nil:
		p.suspended.forChild(undecided)
		return true
	case p.isLeft(e, obj):
		return false
	}
	p.addCandidate(e.GVK, obj, &e)
	return true
}

// holdsUnwanted says whether there is an object of ours in a place that no child makes.
func (p *pruner) holdsUnwanted(e inventory.Entry, in Input) bool {
	return slices.ContainsFunc(p.indexes.in(in.Objects, e.Namespace), func(obj *unstructured.Unstructured) bool {
		if obj.GetNamespace() != e.Namespace || !IsOurs(obj, p.owner) {
			return false
		}
		w, ok := p.names.find(keyIn(e.GVK, obj))
		return !ok || w.item.ownership == mergedInto
	})
}

// isOrphan says whether the object of an entry is left behind. The child says so if
// it is still there. What was merged is always taken back.
func (s *subject) isOrphan(e inventory.Entry) bool { return isLeftBehind(e, s.spec(e.Child)) }

// isLeftBehind is isOrphan; c is the child of the entry's id, if there is one.
func isLeftBehind(e inventory.Entry, c *policy.Child) bool {
	switch {
	case e.Merged:
		return false
	case c != nil && c.GVK.GroupKind() == e.GVK.GroupKind():
		return c.OnDelete == v1alpha1.DeleteOrphan
	}
	return e.Orphan
}

// planOwnerMetadata says what the owner's metadata has to say.
func (p *inventoryPlanner) planOwnerMetadata() {
	if p.ensures || p.inventory.Err != nil {
		return
	}
	inv := inventory.Inventory{TokenSecret: p.tokenSecret(), Entries: p.inventory.next}
	p.inventory.wantsFinalizer = finalizesAll(p.program) || slices.ContainsFunc(inv.Entries, inventory.Entry.NeedsFinalizer)
	if p.inventory.wantsFinalizer || len(inv.Entries) > 0 {
		inv.Policy = p.program.Name
	}
	text := inv.String()
	switch {
	case len(text) > inventory.MaxBytes && len(text) >= len(p.inventory.Text):
		p.blockers.add(*tooMany(fmt.Sprintf("the record of the children has %d bytes", len(text)), inventory.MaxBytes))
		return
	case len(inv.Entries) > inventory.MaxEntries: // it would not be believed
		p.blockers.add(*tooMany(fmt.Sprintf("the record of the children has %d entries", len(inv.Entries)), inventory.MaxEntries))
		return
	}
	p.setOwnerMetadata(p.inventory.wantsFinalizer, text)
}

// setMark plans the change of the owner's metadata, if it needs one and none was
// refused in this pass.
func (p *planner) setOwnerMetadata(finalizer bool, children string) {
	_, refused := p.snapshot.Problems[KeyOwner]
	if refused || finalizer == p.inventory.HasFinalizer && children == p.inventory.Text {
		return
	}
	p.ownerMetadata = &OwnerMetadata{Finalizer: finalizer, Children: children}
}

// collectActions gathers the actions that may be carried out now: those that need the
// owner's metadata to say something wait until it does.
func (p *planner) collectActions() {
	for i := range p.children {
		c := &p.children[i]
		for k := range c.instances {
			if it := &c.instances[k]; it.action != nil && !p.isHeld(c, it) {
				p.actions = append(p.actions, *it.action)
			}
		}
	}
	p.actions = append(p.actions, p.deletions...)
}

func (p *planner) isHeld(c *child, it *instance) bool {
	if p.ensures {
		return false
	}
	if p.inventory.wantsFinalizer && !p.inventory.HasFinalizer && (finalizesAll(p.program) || it.ownership != ownedByReference && c.OnDelete != v1alpha1.DeleteOrphan) {
		return true
	}
	if it.ownership == ownedByReference {
		return c.CrossNamespace && it.at.Namespace != "" && !p.inventory.hasPlace(inventoryPlace{child: c.ID, namespace: it.at.Namespace, kind: c.GVK.GroupKind()})
	}
	e, has := p.inventory.entry(keyOfInstance(c, it))
	switch {
	case !has || e.Merged != (it.ownership == mergedInto):
		return true
	case it.action.Verb == Create:
		return e.UID != ""
	}
	return e.UID != "" && e.UID != it.live.GetUID()
}

// finalizesAll reports whether each owner of the program has the finalizer.
func finalizesAll(program *policy.Program) bool {
	return program.Protect != nil || program.Deletion == v1alpha1.DeletionOrdered
}
