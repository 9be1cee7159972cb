// Package claims says whose an object is that has the name of a child: what proves that it is an
// owner's, who else may have it, and whether it may be adopted. Who wants the name is a Claimant.
package claims

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/objectmeta"
	"github.com/ambit-dev/ambit/pkg/plan/problems"
)

// IsControlled reports whether the owner of the given uid is the controller of the live
// object. Nothing else proves that it is the owner's child; an empty uid proves
// nothing.
func IsControlled(live *unstructured.Unstructured, owner types.UID) bool {
	refs, _ := objectmeta.FieldAt(live.Object, "metadata", "ownerReferences").([]any)
	for _, r := range refs {
		ref, _ := r.(map[string]any)
		if controller, _ := ref["controller"].(bool); controller {
			uid, _ := ref["uid"].(string)
			return uid != "" && uid == string(owner)
		}
	}
	return false
}

// HasController reports whether an object has a controller.
func HasController(obj *unstructured.Unstructured) bool {
	return metav1.GetControllerOfNoCopy(obj) != nil
}

// Claimant is who wants a name that is taken.
type Claimant struct {
	// Policy is the policy, as v1alpha1.PolicyLabel names it.
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
func NameConflict(live *unstructured.Unstructured, by Claimant) *problems.Problem {
	if objectmeta.IsDeleting(live) {
		return &problems.Problem{
			Reason:  v1alpha1.ReasonDeleting,
			Message: by.nameOf(live) + " exists, is not ours, and is being deleted: waiting for it to be gone",
		}
	}
	whose, advice, _ := by.explainHolder(live)
	return &problems.Problem{
		Reason:   v1alpha1.ReasonNameConflict,
		Terminal: true,
		Message:  fmt.Sprintf("%s exists and is not ours: %s; it is left as it is: %s", by.nameOf(live), whose, advice),
	}
}

// MayAdopt reports whether the claimant may take over an object that is not its own: one that
// is there to stay and is nobody's. What a policy ensures is never adopted.
//
// Labels and the annotation ambit.dev/claim prove nothing, but keep an object from being
// adopted: whoever can write it can take them away. An object is somebody's if it has an owner
// in the sense of Kubernetes, a policy ensures it, or another policy's label is on it. What was
// made for an owner has that owner's label or a claim, and mostly both, and is free only with
// this policy's label beside them, and only if the owner
//   - is the claimant: the proof was lost;
//   - is known to be gone. Ambit changes nothing in what onDelete Orphan leaves behind, so that
//     it has the labels and the claim of its owner for ever.
//
// A claim without the label of an owner may be anybody's, as where admission takes labels
// away. It is nobody's as soon as somebody removes the claim.
func (c Claimant) MayAdopt(live *unstructured.Unstructured) bool {
	_, _, free := c.explainHolder(live)
	return free && !objectmeta.IsDeleting(live)
}

// explainHolder says whose an object is, what to do about it, and whether it is free to be adopted.
// Labels are a hint there, no proof.
func (c Claimant) explainHolder(live *unstructured.Unstructured) (whose, advice string, free bool) {
	whose, advice, free = c.explainForOwner(live)
	switch {
	case c.Owner != "":
		return whose, advice, free
	case free:
		return whose, "delete or rename it", false
	}
	return whose, rename, false
}

const rename = "give the child another name"

// explainForOwner is explainHolder for the child of an owner, which has a field existing.
func (c Claimant) explainForOwner(live *unstructured.Unstructured) (whose, advice string, free bool) {
	labels := objectmeta.LabelsOf(live)
	maker, owner := labels.Get(v1alpha1.LabelPolicy), labels.Get(v1alpha1.LabelOwnerUID)
	claim, ensuredBy := objectmeta.AnnotationOf(live, v1alpha1.AnnotationClaim), objectmeta.AnnotationOf(live, v1alpha1.AnnotationEnsuredBy)
	detail := func(format string, args ...any) string {
		if c.MaySee(live) {
			return fmt.Sprintf(format, args...)
		}
		return ""
	}
	const adopt = "delete or rename it, or set existing: Adopt"
	ref, other := metav1.GetControllerOfNoCopy(live), c.otherOwner(live)
	switch {
	case ref != nil:
		return cmp.Or(detail("its controller is %s %q (uid %s)", ref.Kind, ref.Name, ref.UID), "it has a controller"), rename, false
	case other != nil:
		return "it has no controller, but " + cmp.Or(detail("its owner is %s %q (uid %s)", other.Kind, other.Name, other.UID), "an owner"), rename, false
	case maker != "" && maker != c.Policy:
		return "it is labelled as made by " + cmp.Or(detail("policy %q", maker), "another policy"), rename, false
	case ensuredBy != "":
		return "it has no controller, but says that " + cmp.Or(detail("policy %q ensures it", ensuredBy), "a policy ensures it"),
			rename + adviseUnmark(v1alpha1.AnnotationEnsuredBy), false
	case owner == "" && claim != "":
		return "it has no controller, but a claim of an owner that is not known", rename + adviseUnmark(v1alpha1.AnnotationClaim), false
	case owner != "" && maker == "":
		return "it has no controller, but is labelled as made for an owner, and not by which policy", rename + adviseUnmark(v1alpha1.LabelOwnerUID), false
	case owner != "" && owner != string(c.Owner):
		return c.explainOtherOwner(types.UID(owner), detail(" (uid %s)", owner))
	case maker != "":
		return "it has no controller, and its labels alone do not prove that it was made for this", adopt, true
	}
	return "it has no controller", adopt, true
}

// adviseUnmark is the advice for an object with a mark that may be nobody's any more.
func adviseUnmark(key string) string {
	return "; or take " + key + " away from it, if it is nobody's any more, and set existing: Adopt"
}

// explainOtherOwner is explainHolder for an object with the labels of another owner of the same policy.
func (c Claimant) explainOtherOwner(owner types.UID, detail string) (whose, advice string, free bool) {
	const rename = "give the child a name that no other owner gives it"
	labelled := "it has no controller, but is labelled as made by this policy for another owner" + detail
	switch {
	case c.Lives == nil:
		return labelled, rename + "; if Ambit can see that this owner is gone, existing: Adopt takes the object back", false
	case c.Lives(owner):
		return labelled, rename, false
	}
	return labelled + " that is gone: this policy left it behind (onDelete: Orphan)", "existing: Adopt takes it back; or delete it", true
}

// otherOwner returns an owner of an object that is not the claimant; nil if there is none. In
// another namespace than the claimant's no ownerReference is the claimant's.
func (c Claimant) otherOwner(live *unstructured.Unstructured) *metav1.OwnerReference {
	for _, ref := range live.GetOwnerReferences() {
		if ref.UID != c.Owner || !c.MaySee(live) {
			return &ref
		}
	}
	return nil
}
