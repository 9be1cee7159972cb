package plan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
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
	e, ok := p.inventory.entry(keyIn(kind, obj))
	return ok && p.isProven(e, obj)
}

// isEntered says whether an object is the one that its entry in the inventory stands
// for: it is ours, or has fields of ours.
func (p *planner) isEntered(e inventory.Entry, obj *unstructured.Unstructured) bool {
	if e.Merged {
		return obj.GetUID() == e.UID && ssadiff.HasManager(obj, p.mergeManager())
	}
	return p.isProven(e, obj)
}

// tokenOf returns the ownership token of a wanted object, empty if there is none to be had.
func (p *planner) tokenOf(c *child, it *item) string {
	inv := inventory.Inventory{TokenSecret: p.tokenSecret(), Owner: p.owner}
	if inv.TokenSecret == "" {
		return ""
	}
	key := keyOfItem(c, it)
	e := inventory.Entry{Child: c.ID, GVK: c.GVK, Namespace: key.Namespace, Name: key.Name, Orphan: c.OnDelete == v1alpha1.DeleteOrphan}
	if old, ok := p.inventory.entry(key); ok && !old.Merged {
		e.TokenChild = old.ChildInToken()
	}
	return inv.TokenOf(e)
}

// tokenSecret is that of the inventory, or a fresh one; empty if there is none to be had.
func (p *planner) tokenSecret() string {
	if p.inventory.TokenSecret != "" || p.inventory.Err != nil {
		return p.inventory.TokenSecret
	}
	if len(p.snapshot.Claim) < inventory.MinSecret {
		return ""
	}
	return p.snapshot.Claim
}

func keyOfItem(c *child, it *item) inventory.ObjectKey {
	return inventory.ObjectKey{Kind: c.GVK.GroupKind(), Namespace: it.at.Namespace, Name: it.state.Name}
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

// proofOf reports whether the inventory proves an object to be the owner's, and whether its
// claim says that it is left behind.
func (p *planner) proofOf(e inventory.Entry, obj *unstructured.Unstructured) (orphan, ours bool) {
	if p.snapshot.Unmanaged && !ssadiff.HasManagedFields(obj) {
		return p.inventory.MatchToken(e, obj)
	}
	return p.inventory.Prove(e, obj)
}

// hasToken reports whether there is a claim on an object that the policy wrote, whether or
// not it proves anything.
func (p *planner) hasToken(obj *unstructured.Unstructured) bool {
	if p.snapshot.Unmanaged && !ssadiff.HasManagedFields(obj) {
		return field(obj.Object, "metadata", "annotations", v1alpha1.AnnotationClaim) != nil
	}
	return ssadiff.WroteAnnotation(obj, v1alpha1.FieldManager(p.program.Name), v1alpha1.AnnotationClaim)
}

// isProven reports whether the inventory has an object, and proves it to be the owner's.
func (p *planner) isProven(e inventory.Entry, obj *unstructured.Unstructured) bool {
	_, ok := p.proofOf(e, obj)
	return ok
}

// isLeft reports whether the object of an entry is left behind: its child says so, or its
// claim does. The record alone cannot take that back.
func (p *planner) isLeft(e inventory.Entry, obj *unstructured.Unstructured) bool {
	if e.Merged {
		return false
	}
	orphan, _ := p.proofOf(e, obj)
	return orphan || p.isOrphan(e)
}
