package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/recipe"
	"github.com/ambit-dev/ambit/pkg/plan/claims"
	"github.com/ambit-dev/ambit/pkg/plan/objectmeta"
	"github.com/ambit-dev/ambit/pkg/plan/ssadiff"
)

// isAlone says whether no other child or element wants the same object; if one does,
// both are blocked.
func (p *planner) isAlone(c *child, it *instance) bool {
	key := keyOfInstance(c, it)
	other, taken := p.names.findWanted(key)
	if !taken {
		p.names.addWanted(wanted{key: key, child: c, instance: it})
		return true
	}
	problem := &Problem{Reason: v1alpha1.ReasonInvalid, Terminal: true, Message: wantedTwice(c, it, other)}
	other.instance.markBlocked(problem)
	return it.markBlocked(problem)
}

// wantedTwice says who wants the same object.
func wantedTwice(c *child, it *instance, other wanted) string {
	if other.child == c {
		return fmt.Sprintf("child %q: elements %d and %d both give %s", c.ID, other.instance.number, it.number, c.objectName(it))
	}
	return fmt.Sprintf("children %q and %q are both %s", min(c.ID, other.child.ID), max(c.ID, other.child.ID), c.objectName(it))
}

// findLive finds the object of that name, and says whether it is ours.
func (p *planner) findLive(c *child, it *instance) bool {
	it.found = p.indexes.FindObject(p.inputAt(it.at, c.GVK).Objects, it.at.Namespace, it.state.Name)
	ours := it.found != nil && p.isOurs(c.GVK, it.found)
	if ours || it.ownership == mergedInto {
		it.live = it.found
	}
	return ours
}

// matchLive finds the live object, and says whether to go on and compare.
func (p *planner) matchLive(c *child, it *instance) bool {
	ours := p.findLive(c, it)
	found, blocked := it.found, p.inputAt(it.at, c.GVK).Blocked
	switch problem, failed := p.writeRefusal(c, it); {
	case blocked != nil:
		return it.markBlocked(blocked)
	case failed:
		return it.markBlocked(&problem)
	case p.inventory.Err != nil && (it.ownership != ownedByReference || c.CrossNamespace) && !p.ensures:
		return it.markBlocked(p.inventoryProblem())
	case it.ownership == mergedInto:
		return p.matchMergeTarget(c, it, ours && objectmeta.LabelsOf(found).Get(v1alpha1.LabelPolicy) == p.program.Label) // not what the owner's own controller made
	case found == nil:
		p.planAction(c, it, Action{Verb: Create, Reason: "is missing"})
		return false
	case !ours && c.Existing == v1alpha1.ExistingAdopt && p.nameClaimant().MayAdopt(found):
		p.planAction(c, it, Action{Verb: Create, Reason: "exists and is nobody's: it is adopted"})
		return false
	case !ours:
		return it.markBlocked(claims.NameConflict(found, p.nameClaimant()))
	case objectmeta.IsDeleting(found):
		it.markProgressing("waiting for "+c.objectName(it)+" to be gone, to make it anew", "is being deleted")
		it.state.State, it.state.Reason = Deleting, v1alpha1.ReasonDeleting
		return false
	case it.ownership == ownedByInventory && c.isKept() && claims.IsControlled(found, p.owner):
		return it.markBlocked(&Problem{Reason: v1alpha1.ReasonInvalid, Terminal: true, Message: fmt.Sprintf(
			"%s has an ownerReference from before onDelete was Orphan, so that it would go with its owner, and apply: %s never takes that away: set apply: Apply until it is ready", c.objectName(it), c.Apply)})
	}
	return true
}

// writeRefusal returns how this pass's write on the object was refused, if it was.
func (s *subject) writeRefusal(c *child, it *instance) (problem Problem, refused bool) {
	if len(s.snapshot.Problems) == 0 {
		return Problem{}, false
	}
	problem, refused = s.snapshot.Problems[Action{Child: c.ID, Namespace: it.at.Namespace, Name: it.state.Name}.Key()]
	return problem, refused
}

// matchMergeTarget says whether there is an object of somebody else to merge into.
func (p *planner) matchMergeTarget(c *child, it *instance, ours bool) bool {
	switch {
	case it.live == nil:
		it.markProgressing("waiting for "+c.objectName(it)+" to exist", "waits for somebody else to make it")
	case ours:
		it.markBlocked(&Problem{Reason: v1alpha1.ReasonInvalid, Terminal: true,
			Message: fmt.Sprintf("%s was made for this owner: it cannot be merged into as an object of somebody else", c.objectName(it))})
	case objectmeta.IsDeleting(it.live):
		it.markProgressing("waiting for "+c.objectName(it)+", which is being deleted, to exist again", "is being deleted")
	default:
		return true
	}
	return false
}

// compareLive says whether the live object is as desired.
func (p *planner) compareLive(c *child, it *instance) bool {
	if c.Apply == v1alpha1.ApplyCreate {
		return true
	}
	manager, verb := v1alpha1.FieldManager(p.program.Label), Apply
	if it.ownership == mergedInto {
		manager, verb = p.mergeManager(), Merge
	}
	compared := ssadiff.Compare(it.desired, it.values.HideMadeEntries(it.live, manager), manager)
	differences := compared.Differences
	if len(differences) == 0 {
		return true
	}
	if c.Apply == v1alpha1.ApplyRecreate {
		return p.planRecreation(c, it, differences)
	}
	digest := ssadiff.DigestOf(differences)
	if p.snapshot.ServerNormalized[it.live.GetUID()] == digest {
		return true
	}
	a := Action{
		Verb: verb, UID: it.live.GetUID(), ResourceVersion: it.live.GetResourceVersion(),
		Reason: ssadiff.ReasonText(differences), Fields: ssadiff.PathsOf(differences), Digest: digest,
	}
	if verb == Apply {
		a.Migrate, a.Changes = compared.Migrate, compared.Changes
	}
	p.planAction(c, it, a)
	return false
}

// planRecreation deletes an object whose template gives another one than it was made from, or
// in which somebody else has changed what the template sets. What the API server or
// admission made of it is no reason: it would be made anew for ever.
func (p *planner) planRecreation(c *child, it *instance, differences []ssadiff.Difference) bool {
	drift := ssadiff.DriftOf(differences)
	digest := ssadiff.DigestOf(drift)
	if len(drift) == 0 || p.snapshot.ServerNormalized[it.live.GetUID()] == digest {
		return true
	}
	if ssadiff.HasOtherFields(drift) { // another template: all that differs is why
		drift = differences
	}
	p.planAction(c, it, Action{
		Verb: Delete, UID: it.live.GetUID(), ResourceVersion: it.live.GetResourceVersion(),
		Reason: "is made anew: " + ssadiff.ReasonText(drift), Fields: ssadiff.PathsOf(drift), Digest: digest,
	})
	return false
}

// NormalizedDigest returns the digest of the difference that stays, whatever is written again, now
// that an action has given this live object: what Snapshot.ServerNormalized has to hold of its uid.
// It is empty if there is none. What an Apply or a Merge leaves different was changed back
// by the API server or admission; so was what the Create of an object that is made anew when
// it differs (apply Recreate) does. What another Create leaves is for an Apply to try.
func NormalizedDigest(a Action, live *unstructured.Unstructured, manager string) string {
	madeAnew := a.Verb == Create && a.Recreates
	if !madeAnew && a.Verb != Apply && a.Verb != Merge {
		return ""
	}
	differences := ssadiff.Compare(a.Object, a.Make.HideMadeEntries(live, manager), manager).Differences
	if madeAnew {
		differences = ssadiff.DriftOf(differences)
	}
	return ssadiff.DigestOf(differences)
}

// planAction notes the action that the object needs.
func (p *planner) planAction(c *child, it *instance, a Action) {
	a.Child, a.GVK, a.Namespace, a.Name = c.ID, c.GVK, it.at.Namespace, it.state.Name
	a.Wanted = ssadiff.ObjectDigest(it.desired.Object)
	if a.Make = it.values; a.Verb != Delete && a.Verb != MakeValues {
		a.Object = it.desired
	}
	switch it.ownership {
	case ownedByInventory:
		a.Claim = p.tokenOf(c, it)
		if e, ok := p.inventory.FindEntry(keyOfInstance(c, it)); ok && a.Verb == Create {
			a.OlderClaims = p.inventory.OwnershipTokens(e)
		}
	case mergedInto:
		a.Manager = p.mergeManager()
	case ownedByPolicy:
		a.Ensured = true
	}
	a.Recreates = c.Apply == v1alpha1.ApplyRecreate
	a.Adopt = a.Verb == Create && c.Existing == v1alpha1.ExistingAdopt
	a.AsItIs = a.Adopt && c.Apply == v1alpha1.ApplyCreate
	it.action = &a
	separator := " "
	if a.Verb == Apply || a.Verb == Merge || a.Verb == MakeValues {
		separator = ": "
	}
	it.markProgressing(c.objectName(it)+separator+a.Reason, a.Reason)
}

// checkMade says whether the made values of a live object are valid.
func (p *planner) checkMade(c *child, it *instance) bool {
	if it.values == nil {
		return true
	}
	verdict := it.values.CheckValues(it.live, p.snapshot.Now)
	p.clock.ChangesAt(verdict.Until, "made values of "+c.objectName(it))
	switch {
	case verdict.IsValid():
		return true
	case verdict.Findings[0].Code == recipe.NoIssuer:
		return it.markBlocked(&Problem{Reason: v1alpha1.ReasonInvalid, Message: c.objectName(it) + ": " + verdict.ReasonText()})
	}
	p.planAction(c, it, Action{
		Verb: MakeValues, UID: it.live.GetUID(), ResourceVersion: it.live.GetResourceVersion(), Reason: verdict.ReasonText(),
		Fields: verdict.FieldPaths(), Digest: verdict.ReasonText(),
	})
	return false
}
