package plan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/claims"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/plan/managedfields"
	"github.com/ambit-dev/ambit/pkg/plan/objectmeta"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// ownership is how an object belongs to its owner.
type ownership int

const (
	// ownedByReference: by a controller ownerReference.
	ownedByReference ownership = iota
	// ownedByInventory: by the owner's inventory and the object's claim.
	ownedByInventory
	// mergedInto: it is not ours; the inventory says that it has fields of ours.
	mergedInto
	// ownedByPolicy: it belongs to the policy, as its annotation says.
	ownedByPolicy
)

// ownershipOf says how an object of a child in a namespace is tied to the owner. An
// ownerReference to an owner in another namespace would make the garbage collector
// delete the object; one that is to be left behind must not have any.
func (s *subject) ownershipOf(c *policy.Child, namespace string) ownership {
	switch {
	case s.ensures:
		return ownedByPolicy
	case c.Existing == v1alpha1.ExistingMerge:
		return mergedInto
	case c.OnDelete == v1alpha1.DeleteOrphan, s.namespace != "" && namespace != s.namespace:
		return ownedByInventory
	}
	return ownedByReference
}

// isOurs says whether an observed object is the owner's, or the policy's, and by
// what.
func (s *subject) isOurs(kind schema.GroupVersionKind, obj *unstructured.Unstructured) bool {
	if s.ensures {
		return s.isEnsured(obj)
	}
	if claims.IsControlled(obj, s.owner) {
		return true
	}
	e, ok := s.inventory.FindEntry(keyOfObject(kind, obj))
	return ok && s.isProven(e, obj)
}

// isEntered says whether an object is the one that its entry in the inventory stands
// for: it is ours, or has fields of ours.
func (s *subject) isEntered(e inventory.Entry, obj *unstructured.Unstructured) bool {
	if e.Merged {
		return obj.GetUID() == e.UID && managedfields.HasManager(obj, s.mergeManager())
	}
	return s.isProven(e, obj)
}

// tokenOf returns the ownership token of a wanted object, empty if there is none to be had.
func (s *subject) tokenOf(c *child, it *instance) string {
	inv := inventory.Inventory{TokenSecret: s.tokenSecret(), Owner: s.owner}
	if inv.TokenSecret == "" {
		return ""
	}
	key := keyOfInstance(c, it)
	e := inventory.Entry{Child: c.ID, GVK: c.GVK, Namespace: key.Namespace, Name: key.Name, Orphan: c.OnDelete == v1alpha1.DeleteOrphan}
	if old, ok := s.inventory.FindEntry(key); ok && !old.Merged {
		e.TokenChild = old.ChildInToken()
	}
	return inv.TokenOf(e)
}

// tokenSecret is that of the inventory, or a fresh one; empty if there is none to be had.
func (s *subject) tokenSecret() string {
	if s.inventory.TokenSecret != "" || s.inventory.Err != nil {
		return s.inventory.TokenSecret
	}
	if len(s.snapshot.Claim) < inventory.MinSecret {
		return ""
	}
	return s.snapshot.Claim
}

func keyOfInstance(c *child, it *instance) inventory.ObjectKey {
	return inventory.ObjectKey{Kind: c.GVK.GroupKind(), Namespace: it.at.Namespace, Name: it.state.Name}
}

// mergeManager is the field manager of what is merged for this owner.
func (s *subject) mergeManager() string { return v1alpha1.MergeManager(s.program.Label, s.owner) }

// isEnsured reports whether the policy itself has made an object: its field manager has
// written so, and nobody controls it.
func (s *subject) isEnsured(obj *unstructured.Unstructured) bool {
	by := objectmeta.TextOf(objectmeta.FieldAt(obj.Object, "metadata", "annotations", v1alpha1.AnnotationEnsuredBy))
	return by == s.ensuredBy() && !claims.HasController(obj) &&
		managedfields.WroteAnnotation(obj, v1alpha1.FieldManager(s.program.Label), v1alpha1.AnnotationEnsuredBy)
}

// nameClaimant is who wants the names of the children.
func (s *subject) nameClaimant() claims.Claimant {
	c := claims.Claimant{Policy: s.program.Label, Lives: s.snapshot.Lives}
	if !s.ensures {
		c.Owner, c.Namespace = s.owner, s.namespace
	}
	return c
}

func (s *subject) ensuredBy() string { return s.program.Namespace + "/" + s.program.Name }

// ownershipProofOf reports whether the inventory proves an object to be the owner's, and whether its
// claim says that it is left behind.
func (s *subject) ownershipProofOf(e inventory.Entry, obj *unstructured.Unstructured) (orphan, ours bool) {
	if s.snapshot.Unmanaged && !managedfields.IsPresent(obj) {
		return s.inventory.MatchToken(e, obj)
	}
	return s.inventory.ProveOwnership(e, obj)
}

// hasToken reports whether there is a claim on an object that the policy wrote, whether or
// not it proves anything.
func (s *subject) hasToken(obj *unstructured.Unstructured) bool {
	if s.snapshot.Unmanaged && !managedfields.IsPresent(obj) {
		return objectmeta.FieldAt(obj.Object, "metadata", "annotations", v1alpha1.AnnotationClaim) != nil
	}
	return managedfields.WroteAnnotation(obj, v1alpha1.FieldManager(s.program.Label), v1alpha1.AnnotationClaim)
}

// isProven reports whether the inventory has an object, and proves it to be the owner's.
func (s *subject) isProven(e inventory.Entry, obj *unstructured.Unstructured) bool {
	_, ok := s.ownershipProofOf(e, obj)
	return ok
}

// isLeft reports whether the object of an entry is left behind: its child says so, or its
// claim does. The record alone cannot take that back.
func (s *subject) isLeft(e inventory.Entry, obj *unstructured.Unstructured) bool {
	if e.Merged {
		return false
	}
	orphan, _ := s.ownershipProofOf(e, obj)
	return orphan || s.isOrphan(e)
}

// isOrphan says whether the object of an entry is left behind. The child says so if
// it is still there. What was merged is always taken back.
func (s *subject) isOrphan(e inventory.Entry) bool {
	return inventory.IsLeftBehind(e, s.findSpec(e.Child))
}

// isPrunable says whether an object is ours by other than the inventory, whose
// entries are reviewed one by one, and is not one to be left behind. One with a claim that
// the inventory cannot prove may be: Ambit ties what it leaves behind by a token, and the
// ownerReference beside it is somebody else's.
func (s *subject) isPrunable(gvk schema.GroupVersionKind, obj *unstructured.Unstructured) bool {
	if s.ensures {
		return s.isEnsured(obj)
	}
	if !claims.IsControlled(obj, s.owner) {
		return false
	}
	e, ok := s.inventory.FindEntry(keyOfObject(gvk, obj))
	switch {
	case ok && e.Merged: // what was merged is taken back first, whoever has made the object
		return false
	case ok && s.isLeft(e, obj):
		return false
	case s.hasToken(obj):
		return ok && s.isProven(e, obj)
	}
	return true
}

// isKept says whether objects of the child are never changed once they are there. The record takes it that all others
// are soon written, and then say themselves what it says of them.
func (c *child) isKept() bool {
	return c.Apply == v1alpha1.ApplyCreate || c.Apply == v1alpha1.ApplyRecreate
}
