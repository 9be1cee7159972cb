package plan

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// IsOurs says whether the owner of the given uid is the controller of the live
// object. Nothing else proves that it is the owner's child; an empty uid proves
// nothing.
func IsOurs(live *unstructured.Unstructured, owner types.UID) bool {
	refs, _ := field(live.Object, "metadata", "ownerReferences").([]any)
	for _, r := range refs {
		ref, _ := r.(map[string]any)
		if controller, _ := ref["controller"].(bool); controller {
			uid, _ := ref["uid"].(string)
			return uid != "" && uid == string(owner)
		}
	}
	return false
}

func hasController(obj *unstructured.Unstructured) bool {
	return metav1.GetControllerOfNoCopy(obj) != nil
}

// Claimant is who wants a name that is taken.
type Claimant struct {
	// Policy is the name of the policy.
	Policy string
	// Owner is the uid of the owner that the child is for, and Namespace is the owner's.
	// Both are empty for what the policy itself ensures; Namespace also for an owner
	// without one.
	Owner     types.UID
	Namespace string
	// Lives reports whether there is, or may be, an owner of that uid. Nil: nobody knows.
	Lives func(owner types.UID) bool
}

// MaySee reports whether the claimant may be told who has an object. Whoever writes an
// owner chooses the names of children, but need not be able to read in another namespace
// than the owner's, nor what has none.
func (c Claimant) MaySee(live *unstructured.Unstructured) bool {
	return c.Owner == "" || live.GetNamespace() == c.Namespace
}

// nameOf is as in `Widget "web"`; with the namespace where that is not the claimant's.
func (c Claimant) nameOf(live *unstructured.Unstructured) string {
	if namespace := live.GetNamespace(); namespace != "" && namespace != c.Namespace {
		return fmt.Sprintf("%s %q in namespace %q", live.GetKind(), live.GetName(), namespace)
	}
	return fmt.Sprintf("%s %q", live.GetKind(), live.GetName())
}

// NameConflict is the problem of a child whose name is taken by an object that
// is not ours. It says whose the object is, as far as the claimant may see that, and what
// to do.
//
// An object that is being deleted is only in the way for a while: mostly it was
// the child of an owner that had the same name before.
func NameConflict(live *unstructured.Unstructured, by Claimant) *Problem {
	if isDeleting(live) {
		return &Problem{
			Reason:  v1alpha1.ReasonDeleting,
			Message: by.nameOf(live) + " exists, is not ours, and is being deleted: waiting for it to be gone",
		}
	}
	whose, advice := by.whose(live)
	return &Problem{
		Reason:   v1alpha1.ReasonNameConflict,
		Terminal: true,
		Message:  fmt.Sprintf("%s exists and is not ours: %s; it is left as it is: %s", by.nameOf(live), whose, advice),
	}
}

// whose says whose an object is, and what to do about it. Labels are a hint there, no proof.
func (c Claimant) whose(live *unstructured.Unstructured) (whose, advice string) {
	labels := labelsOf(live)
	maker, owner := labels.Get(v1alpha1.LabelPolicy), labels.Get(v1alpha1.LabelOwnerUID)
	detail := func(format string, args ...any) string {
		if c.MaySee(live) {
			return fmt.Sprintf(format, args...)
		}
		return ""
	}
	const rename = "give the child another name"
	ref := metav1.GetControllerOfNoCopy(live)
	switch {
	case ref != nil && c.MaySee(live):
		return fmt.Sprintf("its controller is %s %q (uid %s)", ref.Kind, ref.Name, ref.UID), rename
	case ref != nil:
		return "it has a controller", rename
	case maker != "" && maker != c.Policy:
		return "it is labelled as made by " + cmp.Or(detail("policy %q", maker), "another policy"), rename
	case maker == c.Policy && c.Owner != "" && owner != "" && owner != string(c.Owner):
		return c.whoseOther(types.UID(owner), detail(" (uid %s)", owner))
	case maker == c.Policy:
		return "it has no controller, and its labels alone do not prove that it was made for this",
			"delete or rename it, or set existing: Adopt"
	}
	return "it has no controller", "delete or rename it, or set existing: Adopt"
}

// whoseOther is whose for an object with the labels of another owner of the same policy.
func (c Claimant) whoseOther(owner types.UID, detail string) (whose, advice string) {
	const rename = "give the child a name that no other owner gives it"
	labelled := "it is labelled as made by this policy for another owner" + detail
	switch {
	case c.Lives == nil:
		return labelled, rename + "; if that owner is gone, existing: Adopt takes the object back"
	case c.Lives(owner):
		return labelled, rename
	}
	return labelled + " that is gone: this policy left it behind (onDelete: Orphan)", "existing: Adopt takes it back; or delete it"
}

// field returns what is at a path of nested maps, or nil.
func field(m map[string]any, path ...string) any {
	var v any = m
	for _, key := range path {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

// text returns a value that is a text, else "".
func text(v any) string {
	s, _ := v.(string)
	return s
}
