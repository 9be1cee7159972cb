package plan

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Inventory is what the annotation ambit.dev/children of an owner says: where the
// owner has objects that its ownerReference cannot lead to. It is written before
// the objects are.
type Inventory struct {
	// Policy is the name of the policy that has written it: the finalizer beside it is
	// that policy's. No other one changes anything of either.
	Policy string
	// Claim is the secret of ClaimOf: random text of at least 16 characters; empty if
	// there are no entries.
	Claim string
	// Entries are sorted by kind, namespace and name; there is one for an object.
	Entries []Entry
	// Owner is the uid of the owner that the inventory stands on. It is not in the text, which
	// whoever writes the owner can copy or make up. Without it an inventory proves nothing.
	Owner types.UID
}

// Entry is one object of an inventory, or a place.
type Entry struct {
	// Child is the id of the child, and ClaimedAs the one that the claim of the object names, if
	// the child had another id then.
	Child     string
	ClaimedAs string
	GVK       schema.GroupVersionKind
	Namespace string
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

// isPlace says whether the entry is no object but a place.
func (e Entry) isPlace() bool { return e.Name == "" }

// minClaim is the least length of a claim.
const minClaim = 16

var (
	identifier = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	kindName   = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9]{0,62}$`)
	versionID  = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)
)

// mostName is how long the name of a policy may be.
const mostName = 63

// validate says what is wrong with the inventory. It sorts the entries.
func (inv *Inventory) validate() error {
	switch {
	case inv.Policy == "":
		return errors.New("the policy is missing")
	case len(inv.Policy) > mostName || len(validation.IsDNS1123Subdomain(inv.Policy)) > 0:
		return errors.New("the policy has no name that a policy can have")
	case len(inv.Entries) > maxEntries:
		return fmt.Errorf("it has %d entries; Ambit writes at most %d", len(inv.Entries), maxEntries)
	case len(inv.Entries) == 0 && inv.Claim != "":
		return errors.New("it has a claim, but no entries")
	case len(inv.Entries) > 0 && len(inv.Claim) < minClaim:
		return fmt.Errorf("the claim has %d characters, want at least %d", len(inv.Claim), minClaim)
	}
	var last Entry
	for _, e := range inv.Entries {
		if err := e.validate(last); err != nil {
			return fmt.Errorf("entry %q of child %q: %w", e.text(), e.Child, err)
		}
		last = e
	}
	slices.SortFunc(inv.Entries, compareEntries)
	for i := 1; i < len(inv.Entries); i++ {
		if a, b := inv.Entries[i-1], inv.Entries[i]; compareEntries(a, b) == 0 {
			return fmt.Errorf("entry %q of child %q is there twice", b.text(), b.Child)
		}
	}
	return nil
}

// validate says what is wrong with an entry. What it has in common with the one before,
// which is valid or empty, is not checked again.
func (e Entry) validate(before Entry) error {
	switch {
	case e.Child == "":
		return errors.New("the child is missing")
	case e.Child != before.Child && !identifier.MatchString(e.Child), e.ClaimedAs != "" && !identifier.MatchString(e.ClaimedAs):
		return errors.New("the child is no identifier")
	case e.GVK.Kind == "" || e.GVK.Version == "":
		return errors.New("the kind is missing")
	case e.GVK != before.GVK && !isKind(e.GVK):
		return errors.New("this is no kind")
	case e.Namespace != before.Namespace && e.Namespace != "" && len(validation.IsDNS1123Label(e.Namespace)) > 0,
		e.Name != "" && len(content.IsPathSegmentName(e.Name)) > 0:
		return errors.New("this is no name")
	case e.Rank < 0:
		return errors.New("the rank is negative")
	case strings.ContainsAny(e.Namespace+e.Name, "/\x00"):
		return errors.New("this is no name")
	case e.isPlace() && (e.Namespace == "" || e.UID != "" || e.Merged || e.Orphan || e.ClaimedAs != ""):
		return errors.New("this is no place")
	case e.Merged && e.UID == "":
		return errors.New("the uid is missing")
	}
	return nil
}

// isKind reports whether the API server can have such a kind: it becomes a part of paths.
func isKind(gvk schema.GroupVersionKind) bool {
	return kindName.MatchString(gvk.Kind) && versionID.MatchString(gvk.Version) &&
		(gvk.Group == "" || len(validation.IsDNS1123Subdomain(gvk.Group)) == 0)
}

// compareEntries orders entries; it is 0 for the same object, and for the same
// place of the same child.
func compareEntries(a, b Entry) int {
	order := cmp.Or(cmp.Compare(a.GVK.Kind, b.GVK.Kind), cmp.Compare(a.GVK.Group, b.GVK.Group),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	if order == 0 && a.isPlace() {
		return cmp.Compare(a.Child, b.Child)
	}
	return order
}
