package plan

import (
	"fmt"
	"slices"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/claims"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/plan/objectmeta"
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
	old, has := p.inventory.FindEntry(key)
	switch {
	case it.ownership == ownedByReference:
		p.enterControlled(c, it, old, has)
	case has && old.Merged != (it.ownership == mergedInto), p.inventory.IsObjectEntered(key):
		// The entry of the other kind goes first.
	case it.problem != nil:
		if has && (it.found == nil || it.live != nil) {
			p.inventory.AddObject(old)
		}
	case it.ownership == mergedInto && (it.live == nil || objectmeta.IsDeleting(it.live)):
		if has { // what is not seen may be younger than the view
			p.inventory.AddObject(old)
		}
	default:
		e := inventory.Entry{Child: c.ID, GVK: c.GVK, Namespace: it.at.Namespace, Name: it.state.Name, Merged: it.ownership == mergedInto,
			Orphan: c.OnDelete == v1alpha1.DeleteOrphan, Rank: p.graph.RankOf(c.ID)}
		if it.live != nil {
			e.UID = it.live.GetUID()
		}
		if has && it.ownership == ownedByInventory {
			p.keepTokenChild(&e, old, c, it)
		}
		p.inventory.AddObject(e)
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
		orphan, _ := p.ownershipProofOf(old, it.live)
		e.Orphan = e.Orphan || orphan
	}
}

// enterControlled notes where an object with an ownerReference is, if that need not
// be the owner's namespace, and keeps the entry of one that has none yet.
func (p *inventoryPlanner) enterControlled(c *child, it *instance, old inventory.Entry, has bool) {
	if c.CrossNamespace && it.at.Namespace != "" {
		p.inventory.AddPlace(inventory.Entry{Child: c.ID, GVK: c.GVK, Namespace: it.at.Namespace, Rank: p.graph.RankOf(c.ID)})
	}
	if !has || old.Merged {
		return
	}
	if p.inputAt(it.at, c.GVK).Blocked != nil || it.live != nil && !claims.IsControlled(it.live, p.owner) {
		old.Orphan = it.live != nil && c.isKept() && p.isLeft(old, it.live) // else, until then, only we remove it
		p.inventory.AddObject(old)
	}
}

// planOwnerMetadata says what the owner's metadata has to say.
func (p *inventoryPlanner) planOwnerMetadata() {
	if p.ensures || p.inventory.Err != nil {
		return
	}
	inv := inventory.Inventory{TokenSecret: p.tokenSecret(), Entries: p.inventory.Next}
	p.inventory.WantsFinalizer = finalizesAll(p.program) || slices.ContainsFunc(inv.Entries, inventory.Entry.NeedsFinalizer)
	if p.inventory.WantsFinalizer || len(inv.Entries) > 0 {
		inv.Policy = p.program.Label
	}
	text := inv.String()
	switch {
	case len(text) > inventory.MaxBytes && len(text) >= len(p.inventory.Text):
		p.blockers.Add(*limitProblem(fmt.Sprintf("the record of the children has %d bytes", len(text)), inventory.MaxBytes))
		return
	case len(inv.Entries) > inventory.MaxEntries: // it would not be believed
		p.blockers.Add(*limitProblem(fmt.Sprintf("the record of the children has %d entries", len(inv.Entries)), inventory.MaxEntries))
		return
	}
	p.setOwnerMetadata(p.inventory.WantsFinalizer, text)
}

// setOwnerMetadata plans the change of the owner's metadata, if it needs one and none was
// refused in this pass.
func (p *planner) setOwnerMetadata(finalizer bool, children string) {
	_, refused := p.snapshot.Problems[KeyOwner]
	if refused || finalizer == p.inventory.HasFinalizer && children == p.inventory.Text {
		return
	}
	p.ownerMetadata = &OwnerMetadata{Finalizer: finalizer, Children: children}
}

// isHeldBack says whether the action of an object waits until the owner's metadata says what it has to.
func (p *planner) isHeldBack(c *child, it *instance) bool {
	if p.ensures {
		return false
	}
	if p.inventory.WantsFinalizer && !p.inventory.HasFinalizer && (finalizesAll(p.program) || it.ownership != ownedByReference && c.OnDelete != v1alpha1.DeleteOrphan) {
		return true
	}
	if it.ownership == ownedByReference {
		return c.CrossNamespace && it.at.Namespace != "" && !p.inventory.HasPlace(inventory.Place{Child: c.ID, Namespace: it.at.Namespace, Kind: c.GVK.GroupKind()})
	}
	e, has := p.inventory.FindEntry(keyOfInstance(c, it))
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
