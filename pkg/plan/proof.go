package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/ssadiff"
)

// TokenOf returns the value of the annotation ambit.dev/claim on the object of an entry.
// It binds the owner, the child, the object, and whether that is left behind: it holds for
// nothing else. It does not change when the child gets another id.
func (inv Inventory) TokenOf(e Entry) string { return inv.claimOf(e, e.Orphan) }

func (inv Inventory) claimOf(e Entry, orphan bool) string {
	key := e.ObjectKey()
	fate := "delete"
	if orphan {
		fate = "orphan"
	}
	parts := []string{inv.Claim, string(inv.Owner), key.Kind.Group, key.Kind.Kind, key.Namespace, key.Name, e.claimedAs(), fate}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])[:32]
}

// claimedAs is the id of the child that the claim of the entry's object names.
func (e Entry) claimedAs() string { return cmp.Or(e.ClaimedAs, e.Child) }

// Tokens are the values of the annotation ambit.dev/claim that prove the object of an
// entry to be the owner's: whether it is left behind may have been edited.
func (inv Inventory) Tokens(e Entry) []string {
	return []string{inv.claimOf(e, e.Orphan), inv.claimOf(e, !e.Orphan)}
}

// Prove reports whether the inventory, by one of its entries, proves that an object of the
// entry's kind and name is the owner's, and whether its claim says that it is left behind.
// The object has to have the uid of the entry, if that has one, and no controller but the
// owner. Its claim counts only if the policy's own field manager wrote it, as the object's
// managedFields say, and no manager of merged fields did: what Ambit merges for an owner is
// the choice of whoever writes the owner. A merged entry proves nothing.
func (inv Inventory) Prove(e Entry, obj *unstructured.Unstructured) (orphan, ours bool) {
	if !ssadiff.WroteAnnotation(obj, v1alpha1.FieldManager(inv.Policy), v1alpha1.AnnotationClaim) {
		return false, false
	}
	return inv.matchClaim(e, obj)
}

// matchClaim is Prove without a look at who wrote the claim.
func (inv Inventory) matchClaim(e Entry, obj *unstructured.Unstructured) (orphan, ours bool) {
	claim := text(field(obj.Object, "metadata", "annotations", v1alpha1.AnnotationClaim))
	switch {
	case claim == "", e.Merged, inv.Claim == "", inv.Owner == "", e.UID != "" && e.UID != obj.GetUID():
		return false, false
	case hasController(obj) && !IsOurs(obj, inv.Owner):
		return false, false
	}
	orphan = claim == inv.claimOf(e, true)
	return orphan, orphan || claim == inv.claimOf(e, false)
}

// proofOf reports whether the inventory proves an object to be the owner's, and whether its
// claim says that it is left behind.
func (p *planner) proofOf(e Entry, obj *unstructured.Unstructured) (orphan, ours bool) {
	if p.snapshot.Unmanaged && !ssadiff.HasManagedFields(obj) {
		return p.ledger.old.matchClaim(e, obj)
	}
	return p.ledger.old.Prove(e, obj)
}

// hasClaim reports whether there is a claim on an object that the policy wrote, whether or
// not it proves anything.
func (p *planner) hasClaim(obj *unstructured.Unstructured) bool {
	if p.snapshot.Unmanaged && !ssadiff.HasManagedFields(obj) {
		return field(obj.Object, "metadata", "annotations", v1alpha1.AnnotationClaim) != nil
	}
	return ssadiff.WroteAnnotation(obj, v1alpha1.FieldManager(p.program.Name), v1alpha1.AnnotationClaim)
}

// isClaimed reports whether the inventory has an object, and proves it to be the owner's.
func (p *planner) isClaimed(e Entry, obj *unstructured.Unstructured) bool {
	_, ok := p.proofOf(e, obj)
	return ok
}

// isLeft reports whether the object of an entry is left behind: its child says so, or its
// claim does. The record alone cannot take that back.
func (p *planner) isLeft(e Entry, obj *unstructured.Unstructured) bool {
	if e.Merged {
		return false
	}
	orphan, _ := p.proofOf(e, obj)
	return orphan || p.isOrphan(e)
}
