package apply

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// adopt makes an object ours that is nobody's, by one server-side apply that holds
// only for the object as it was read.
func (a *Applier) adopt(ctx context.Context, w write, live *unstructured.Unstructured) Outcome {
	if live.GetDeletionTimestamp() != nil {
		return Outcome{Problem: plan.NameConflict(live, w.claimant())}
	}
	if why := w.hindrance(live); why != "" {
		return Outcome{Problem: &plan.Problem{Reason: v1alpha1.ReasonNameConflict, Terminal: true,
			Message: fmt.Sprintf("%s exists and cannot be adopted: %s; it is left as it is", describe(w.Action), why)}}
	}
	desired := w.Object.DeepCopy()
	desired.SetUID(live.GetUID())
	desired.SetResourceVersion(live.GetResourceVersion())
	adopted, err := w.serverSideApply(ctx, desired, metav1.PatchOptions{FieldManager: a.Manager, Force: new(true)})
	switch {
	case err == nil:
		return Outcome{Object: adopted, Adopted: true}
	case isAnother(err):
		return Outcome{Stale: true}
	}
	return a.refused(err, "patch", w)
}

// hindrance says why an object must not be adopted: it is somebody's. Empty if it
// is nobody's.
func (w write) hindrance(live *unstructured.Unstructured) string {
	switch hidden := !w.claimant().MaySee(live); {
	case hidden && len(live.GetOwnerReferences()) > 0:
		return "it has an owner"
	case hidden && (live.GetAnnotations()[v1alpha1.AnnotationEnsuredBy] != "" || otherPolicy(live, w.policy()) != ""):
		return "another policy made it"
	}
	if ref := metav1.GetControllerOfNoCopy(live); ref != nil {
		return fmt.Sprintf("its controller is %s %q (uid %s)", ref.Kind, ref.Name, ref.UID)
	}
	for _, ref := range live.GetOwnerReferences() {
		if ref.UID != w.OwnerUID {
			return fmt.Sprintf("its owner is %s %q (uid %s)", ref.Kind, ref.Name, ref.UID)
		}
	}
	if by := live.GetAnnotations()[v1alpha1.AnnotationEnsuredBy]; by != "" {
		return fmt.Sprintf("policy %q ensures it", by)
	}
	if other := otherPolicy(live, w.policy()); other != "" {
		return fmt.Sprintf("policy %q made it", other)
	}
	return w.other(live)
}

// other says for which other owner of the policy an object was made, if that one
// may still live: what is left of one that is gone is nobody's.
func (w write) other(live *unstructured.Unstructured) string {
	owner := live.GetLabels()[v1alpha1.LabelOwnerUID]
	switch {
	case owner == "" && live.GetAnnotations()[v1alpha1.AnnotationClaim] != "":
		return "it was made for an owner that is not known, as its annotation " + v1alpha1.AnnotationClaim + " says"
	case w.isOfAnother(live) && !w.claimant().MaySee(live):
		return "it was made for another owner"
	case w.isOfAnother(live):
		return fmt.Sprintf("it was made for another owner (uid %s)", owner)
	}
	return ""
}
