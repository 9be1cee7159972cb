package inventory

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/managedfields"
)

// TokenOf returns the ownership token of an entry's object: the value of its annotation
// ambit.dev/claim. The token binds the owner, the child, the object, and whether that is left
// behind: it holds for nothing else. It does not change when the child gets another id.
func (inv Inventory) TokenOf(e Entry) string {
	key := e.ObjectKey()
	fate := "delete"
	if e.Orphan {
		fate = "orphan"
	}
	parts := []string{inv.TokenSecret, string(inv.Owner), key.Kind.Group, key.Kind.Kind, key.Namespace, key.Name, e.ChildInToken(), fate}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])[:32]
}

// OwnershipTokens returns the ownership tokens that prove the object of an entry to be the owner's:
// whether it is left behind may have been edited.
func (inv Inventory) OwnershipTokens(e Entry) []string {
	other := e
	other.Orphan = !e.Orphan
	return []string{inv.TokenOf(e), inv.TokenOf(other)}
}

// ProveOwnership reports whether the inventory, by one of its entries, proves that an object of the
// entry's kind and name is the owner's, and whether the object's token says that it is left
// behind. The object has to have the uid of the entry, if that has one, and no controller but
// the owner. The token counts only if the policy's own field manager wrote it, as the object's
// managedFields say, and no manager of merged fields did: what Ambit merges for an owner is
// the choice of whoever writes the owner. A merged entry proves nothing.
func (inv Inventory) ProveOwnership(e Entry, obj *unstructured.Unstructured) (orphan, ours bool) {
	if !managedfields.WroteAnnotation(obj, v1alpha1.FieldManager(inv.Policy), v1alpha1.AnnotationClaim) {
		return false, false
	}
	return inv.MatchToken(e, obj)
}

// MatchToken is ProveOwnership without a look at who wrote the token.
func (inv Inventory) MatchToken(e Entry, obj *unstructured.Unstructured) (orphan, ours bool) {
	token, _, _ := unstructured.NestedString(obj.Object, "metadata", "annotations", v1alpha1.AnnotationClaim)
	switch {
	case token == "", e.Merged, inv.TokenSecret == "", inv.Owner == "", e.UID != "" && e.UID != obj.GetUID():
		return false, false
	}
	if controller := metav1.GetControllerOfNoCopy(obj); controller != nil && controller.UID != inv.Owner {
		return false, false
	}
	e.Orphan = true
	if token == inv.TokenOf(e) {
		return true, true
	}
	e.Orphan = false
	return false, token == inv.TokenOf(e)
}
