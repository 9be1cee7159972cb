package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// adopt makes an object ours that is nobody's, by one write that holds only for the
// object as it was read.
func (a *Applier) adopt(ctx context.Context, w write, live *unstructured.Unstructured) Outcome {
	if live.GetDeletionTimestamp() != nil {
		return Outcome{Problem: plan.NameConflict(live, w.claimant())}
	}
	if why := w.hindrance(live); why != "" {
		return Outcome{Problem: &plan.Problem{Reason: v1alpha1.ReasonNameConflict, Terminal: true,
			Message: fmt.Sprintf("%s exists and cannot be adopted: %s; it is left as it is", describe(w.Action), why)}}
	}
	take := a.takeOver
	if w.AsItIs {
		take = a.tie
	}
	adopted, err := take(ctx, w, live)
	switch {
	case err == nil:
		return Outcome{Object: adopted, Adopted: true}
	case isAnother(err):
		return Outcome{Stale: true}
	}
	return a.refused(err, "patch", w)
}

// takeOver makes an object what the action wants.
func (a *Applier) takeOver(ctx context.Context, w write, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	desired := w.Object.DeepCopy()
	desired.SetUID(live.GetUID())
	desired.SetResourceVersion(live.GetResourceVersion())
	return w.serverSideApply(ctx, desired, metav1.PatchOptions{FieldManager: a.Manager, Force: new(true)})
}

// tie adds to an object what ties it to its owner, and changes nothing else. It is a merge
// patch: a server-side apply would remove what the policy has applied for an owner before.
func (a *Applier) tie(ctx context.Context, w write, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	metadata := map[string]any{
		"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion(),
		"labels": ownKeys(w.Object.GetLabels()), "annotations": ownKeys(w.Object.GetAnnotations()),
	}
	if references := w.Object.GetOwnerReferences(); len(references) > 0 {
		metadata["ownerReferences"] = references // hindrance has found none of others
	}
	body, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", describe(w.Action), err)
	}
	return w.objects.Patch(ctx, w.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: a.Manager})
}

// ownKeys returns the labels or annotations that are Ambit's own, but for the record of
// what was written: nothing was.
func ownKeys(all map[string]string) map[string]string {
	own := maps.Clone(all)
	maps.DeleteFunc(own, func(key, _ string) bool {
		isOwn := key == v1alpha1.LabelManagedBy || strings.HasPrefix(key, v1alpha1.GroupVersion.Group+"/")
		return !isOwn || key == v1alpha1.AnnotationFields
	})
	return own
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
