package apply

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/claims"
	"github.com/ambit-dev/ambit/pkg/plan/managedfields"
)

// isOurs says whether a live object carries the proof that the action asks for.
// The claim and the mark of the policy prove nothing where somebody else controls the
// object, or where they were not written by the policy's own manager.
func (a *Applier) isOurs(live *unstructured.Unstructured, w actionWrite) bool {
	controller := metav1.GetControllerOfNoCopy(live)
	foreign := controller != nil && (controller.UID != w.OwnerUID || w.OwnerUID == "")
	switch {
	case foreign:
		return false
	case w.Ensured:
		by := live.GetAnnotations()[v1alpha1.AnnotationEnsuredBy]
		return by != "" && by == w.Object.GetAnnotations()[v1alpha1.AnnotationEnsuredBy] &&
			managedfields.WroteAnnotation(live, a.Manager, v1alpha1.AnnotationEnsuredBy)
	case w.Claim != "":
		claim := live.GetAnnotations()[v1alpha1.AnnotationClaim]
		return (claim == w.Claim || slices.Contains(w.OlderClaims, claim)) && !w.isOfAnother(live) &&
			managedfields.WroteAnnotation(live, a.Manager, v1alpha1.AnnotationClaim)
	}
	return controller != nil
}

// policyLabel is the label of the policy that an object is made for.
func (w actionWrite) policyLabel() string { return w.Object.GetLabels()[v1alpha1.LabelPolicy] }

// claimantOf is who wants the name of the action's object.
func (w actionWrite) claimantOf() claims.Claimant {
	if w.Ensured {
		return claims.Claimant{Policy: w.policyLabel(), Lives: w.Lives}
	}
	return claims.Claimant{Policy: w.policyLabel(), Owner: w.OwnerUID, Namespace: w.OwnerNamespace, Lives: w.Lives}
}

// isOfAnother says whether an object was made for another owner that lives, or may.
// Whoever copies an owner copies its record, and with it the claims.
func (w actionWrite) isOfAnother(live *unstructured.Unstructured) bool {
	owner := types.UID(live.GetLabels()[v1alpha1.LabelOwnerUID])
	return owner != "" && owner != w.OwnerUID && (w.Lives == nil || w.Lives(owner))
}

// otherPolicy names the policy that an object says has made it, if that is another one;
// else it is empty.
func otherPolicy(live *unstructured.Unstructured, policy string) string {
	if maker := live.GetLabels()[v1alpha1.LabelPolicy]; maker != policy {
		return maker
	}
	return ""
}

// managesFields says whether a manager has fields in an object.
func managesFields(live *unstructured.Unstructured, manager string) bool {
	return slices.ContainsFunc(live.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return e.Manager == manager })
}
