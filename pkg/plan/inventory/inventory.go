package inventory

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// MaxBytes is how long the text of an inventory may be: an object may have 256 KiB of
	// annotations.
	MaxBytes = 192 << 10
	// MaxEntries is how many entries an inventory may have.
	MaxEntries = 4000
	// MinSecret is the least length of an inventory's secret.
	MinSecret = 16
)

// Inventory is what the annotation ambit.dev/children of an owner says: where the owner has
// objects that its ownerReference cannot lead to. It is written before the objects are.
type Inventory struct {
	// Policy is the PolicyLabel of the policy that has written it: the finalizer beside it is
	// that policy's. No other one changes anything of either.
	Policy string
	// TokenSecret is what makes ownership tokens unguessable: random text of at least
	// MinSecret characters; empty if there are no entries.
	TokenSecret string
	// Entries are sorted by kind, namespace and name; there is one for an object.
	Entries []Entry
	// Owner is the uid of the owner that the inventory stands on. It is not in the text, which
	// whoever writes the owner can copy or make up. Without it an inventory proves nothing.
	Owner types.UID
}

// Entry is one object of an inventory, or a place.
type Entry struct {
	// Child is the id of the child.
	Child string
	// TokenChild is the id that the object's ownership token names, if that is not Child: the
	// child had another id when the object was made.
	TokenChild string
	GVK        schema.GroupVersionKind
	Namespace  string
	// Name is empty for a place: there may be objects of the child in the namespace
	// that have an ownerReference. A place is where to look, and proves nothing.
	Name string
	// UID is empty as long as the object is only about to be made. For a merged
	// object it is that of the object that we have fields in.
	UID types.UID
	// Merged: the object is somebody else's, and has fields of ours.
	Merged bool
	// Orphan: it is left behind when it is no longer wanted.
	Orphan bool
	// Rank is the place of the child in the order of the program: what has a higher
	// rank is deleted first.
	Rank int
}

// ObjectKey names an object in the cluster, whatever its version. It is comparable.
type ObjectKey struct {
	Kind schema.GroupKind
	// Namespace is empty for kinds that have none.
	Namespace, Name string
}

// ObjectKey names the object of the entry; for a place it has no name.
func (e Entry) ObjectKey() ObjectKey {
	return ObjectKey{Kind: e.GVK.GroupKind(), Namespace: e.Namespace, Name: e.Name}
}

// IsPlace reports whether the entry is not an object but a place.
func (e Entry) IsPlace() bool { return e.Name == "" }

// NeedsFinalizer reports whether the owner must not go before the entry's object.
func (e Entry) NeedsFinalizer() bool { return !e.IsPlace() && !e.Orphan }

// ChildInToken returns the id of the child that the ownership token of the entry's object names.
func (e Entry) ChildInToken() string { return cmp.Or(e.TokenChild, e.Child) }

// String is as in `Role team-a/web (child role): uid 123, rank 2, orphan`.
func (e Entry) String() string {
	title := fmt.Sprintf("%s %s (child %s): ", e.GVK.Kind, strings.Trim(e.Namespace+"/"+e.Name, "/"), e.Child)
	switch {
	case e.IsPlace():
		title = fmt.Sprintf("%s objects in %s (child %s)", e.GVK.Kind, e.Namespace, e.Child)
	case e.UID == "":
		title += "about to be made"
	default:
		title += "uid " + string(e.UID)
	}
	if e.TokenChild != "" {
		title += ", claimed as " + e.TokenChild
	}
	if e.Rank > 0 {
		title += fmt.Sprintf(", rank %d", e.Rank)
	}
	if e.Merged {
		title += ", merged"
	}
	if e.Orphan {
		title += ", orphan"
	}
	return title
}

// compareEntries orders entries; it is 0 for the same object, and for the same
// place of the same child.
func compareEntries(a, b Entry) int {
	order := cmp.Or(cmp.Compare(a.GVK.Kind, b.GVK.Kind), cmp.Compare(a.GVK.Group, b.GVK.Group),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	if order == 0 && a.IsPlace() {
		return cmp.Compare(a.Child, b.Child)
	}
	return order
}
