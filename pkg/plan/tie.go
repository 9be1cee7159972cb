package plan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/ssadiff"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// tie is how an object is tied to its owner.
type tie int

const (
	// controlled: by a controller ownerReference.
	controlled tie = iota
	// recorded: by the owner's inventory and the object's claim.
	recorded
	// merged: it is not ours; the inventory says that it has fields of ours.
	merged
	// ensured: it belongs to the policy, as its annotation says.
	ensured
)

// tieOf says how an object of a child in a namespace is tied to the owner. An
// ownerReference to an owner in another namespace would make the garbage collector
// delete the object; one that is to be left behind must not have any.
func (p *planner) tieOf(c *policy.Child, namespace string) tie {
	switch {
	case p.ensures:
		return ensured
	case c.Existing == v1alpha1.ExistingMerge:
		return merged
	case c.OnDelete == v1alpha1.DeleteOrphan, p.namespace != "" && namespace != p.namespace:
		return recorded
	}
	return controlled
}

// isOurs says whether an observed object is the owner's, or the policy's, and by
// what.
func (p *planner) isOurs(kind schema.GroupVersionKind, obj *unstructured.Unstructured) bool {
	if p.ensures {
		return p.isEnsured(obj)
	}
	if IsOurs(obj, p.owner) {
		return true
	}
	e, ok := p.ledger.entry(keyIn(kind, obj))
	return ok && p.isClaimed(e, obj)
}

// isEntered says whether an object is the one that its entry in the inventory stands
// for: it is ours, or has fields of ours.
func (p *planner) isEntered(e Entry, obj *unstructured.Unstructured) bool {
	if e.Merged {
		return obj.GetUID() == e.UID && ssadiff.HasManager(obj, p.mergeManager())
	}
	return p.isClaimed(e, obj)
}

// claimOf returns the claim of a wanted object, empty if there is none to be had.
func (p *planner) claimOf(c *child, it *item) string {
	inv := Inventory{Claim: p.claim(), Owner: p.owner}
	if inv.Claim == "" {
		return ""
	}
	key := keyOfItem(c, it)
	e := Entry{Child: c.ID, GVK: c.GVK, Namespace: key.Namespace, Name: key.Name}
	if old, ok := p.ledger.entry(key); ok && !old.Merged {
		e.ClaimedAs = old.claimedAs()
	}
	return inv.claimOf(e, c.OnDelete == v1alpha1.DeleteOrphan)
}

// claim is that of the inventory, or a fresh one.
func (p *planner) claim() string {
	if p.ledger.old.Claim != "" || p.ledger.err != nil {
		return p.ledger.old.Claim
	}
	if len(p.snapshot.Claim) < minClaim {
		return ""
	}
	return p.snapshot.Claim
}

func keyOfItem(c *child, it *item) ObjectKey {
	return ObjectKey{Kind: c.GVK.GroupKind(), Namespace: it.at.Namespace, Name: it.state.Name}
}

// mergeManager is the field manager of what is merged for this owner.
func (p *planner) mergeManager() string { return v1alpha1.MergeManager(p.program.Name, p.owner) }

// isEnsured reports whether the policy itself has made an object: its field manager has
// written so, and nobody controls it.
func (p *planner) isEnsured(obj *unstructured.Unstructured) bool {
	by := text(field(obj.Object, "metadata", "annotations", v1alpha1.AnnotationEnsuredBy))
	return by == p.ensuredBy() && !hasController(obj) &&
		ssadiff.WroteAnnotation(obj, v1alpha1.FieldManager(p.program.Name), v1alpha1.AnnotationEnsuredBy)
}

// claimant is who wants the names of the children.
func (p *planner) claimant() Claimant {
	if p.ensures {
		return Claimant{Policy: p.program.Name}
	}
	return Claimant{Policy: p.program.Name, Owner: p.owner, Namespace: p.namespace}
}

func (p *planner) ensuredBy() string { return p.program.Namespace + "/" + p.program.Name }
