package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// Proof is what the claim on an object says: for which child it was written, and whether
// the object is to be left behind.
type Proof struct {
	Child  string
	Orphan bool
}

// ClaimOf returns the value of the annotation ambit.dev/claim on the object of an entry.
// It binds the owner, the child, the object, and whether the object is left behind: it
// holds for nothing else.
func (inv Inventory) ClaimOf(e Entry) string {
	return inv.claimOf(e.ObjectKey(), Proof{e.Child, e.Orphan})
}

func (inv Inventory) claimOf(key ObjectKey, p Proof) string {
	orphan := "delete"
	if p.Orphan {
		orphan = "orphan"
	}
	parts := []string{inv.Claim, string(inv.Owner), key.Kind.Group, key.Kind.Kind, key.Namespace, key.Name, p.Child, orphan}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])[:32]
}

// proofs are what the claim on an entry's object may say: what the entry says, or what
// another revision of the policy said or says of the same object. They are few, the
// likeliest first.
func (inv Inventory) proofs(e Entry) []Proof {
	list := []Proof{{e.Child, e.Orphan}, {e.Child, !e.Orphan}}
	for _, c := range inv.Children {
		if c.GVK.GroupKind() == e.GVK.GroupKind() && c.ID != e.Child {
			list = append(list, Proof{c.ID, false}, Proof{c.ID, true})
		}
	}
	return list
}

// Claims are the values of the annotation ambit.dev/claim that prove the object of an
// entry to be the owner's.
func (inv Inventory) Claims(e Entry) []string {
	var claims []string
	for _, p := range inv.proofs(e) {
		claims = append(claims, inv.claimOf(e.ObjectKey(), p))
	}
	return claims
}

// Prove reports whether the inventory, by one of its entries, proves that an object of the
// entry's kind and name is the owner's, and what its claim says. The object has to have
// the uid of the entry, if that has one, and no controller but the owner. Its claim counts
// only if the policy's own field manager wrote it, as the object's managedFields say, and
// no manager of merged fields did: what Ambit merges for an owner is the choice of
// whoever writes the owner. A merged entry proves nothing.
func (inv Inventory) Prove(e Entry, obj *unstructured.Unstructured) (Proof, bool) {
	if !WroteAnnotation(obj, v1alpha1.FieldManager(inv.Policy), v1alpha1.AnnotationClaim) {
		return Proof{}, false
	}
	return inv.matchClaim(e, obj)
}

// matchClaim is Prove without a look at who wrote the claim.
func (inv Inventory) matchClaim(e Entry, obj *unstructured.Unstructured) (Proof, bool) {
	claim := text(field(obj.Object, "metadata", "annotations", v1alpha1.AnnotationClaim))
	switch {
	case claim == "", e.Merged, inv.Claim == "", inv.Owner == "", e.UID != "" && e.UID != obj.GetUID():
		return Proof{}, false
	case hasController(obj) && !IsOurs(obj, inv.Owner):
		return Proof{}, false
	}
	proofs := inv.proofs(e)
	i := slices.IndexFunc(proofs, func(p Proof) bool { return inv.claimOf(e.ObjectKey(), p) == claim })
	if i < 0 {
		return Proof{}, false
	}
	return proofs[i], true
}

// WroteAnnotation reports whether the managedFields of an object say that a policy's field
// manager wrote an annotation, and that no manager of fields that the policy has merged
// did. obj may be projected, with the entries of these managers.
func WroteAnnotation(obj *unstructured.Unstructured, manager, key string) bool {
	list, _ := field(obj.Object, "metadata", "managedFields").([]any)
	wrote := false
	for _, e := range list {
		entry, _ := e.(map[string]any)
		if field(entry, "fieldsV1", "f:metadata", "f:annotations", "f:"+key) == nil {
			continue
		}
		switch name := text(entry["manager"]); {
		case name == manager:
			wrote = true
		case strings.HasPrefix(name, manager+"/"):
			return false
		}
	}
	return wrote
}

// hasNoManagers reports whether an object has no managedFields at all, as `kubectl get`
// prints it.
func hasNoManagers(obj *unstructured.Unstructured) bool {
	return field(obj.Object, "metadata", "managedFields") == nil
}

// proofOf reports whether the inventory proves an object to be the owner's, and what its
// claim says.
func (p *planner) proofOf(e Entry, obj *unstructured.Unstructured) (Proof, bool) {
	if p.snapshot.Unmanaged && hasNoManagers(obj) {
		return p.ledger.old.matchClaim(e, obj)
	}
	return p.ledger.old.Prove(e, obj)
}

// hasClaim reports whether there is a claim on an object that the policy wrote, whether or
// not it proves anything.
func (p *planner) hasClaim(obj *unstructured.Unstructured) bool {
	if p.snapshot.Unmanaged && hasNoManagers(obj) {
		return field(obj.Object, "metadata", "annotations", v1alpha1.AnnotationClaim) != nil
	}
	return WroteAnnotation(obj, v1alpha1.FieldManager(p.program.Name), v1alpha1.AnnotationClaim)
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
	proof, ok := p.proofOf(e, obj)
	return ok && proof.Orphan || p.isOrphan(e)
}
