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
	"github.com/ambit-dev/ambit/pkg/plan/claims"
)

// adoptObject makes an object ours that is nobody's, by one write that holds only for the
// object as it was read.
func (a *Applier) adoptObject(ctx context.Context, w actionWrite, live *unstructured.Unstructured) Outcome {
	if !w.claimantOf().MayAdopt(live) {
		return Outcome{Problem: claims.NameConflict(live, w.claimantOf())}
	}
	take := a.takeOver
	if w.AsItIs {
		take = a.tieToOwner
	}
	adopted, err := take(ctx, w, live)
	switch {
	case err == nil:
		return Outcome{Object: adopted, Adopted: true}
	case isAnother(err):
		return Outcome{Stale: true}
	}
	return a.refusedOutcome(err, "patch", w)
}

// takeOver makes an object what the action wants.
func (a *Applier) takeOver(ctx context.Context, w actionWrite, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	desired := w.Object.DeepCopy()
	desired.SetUID(live.GetUID())
	desired.SetResourceVersion(live.GetResourceVersion())
	return w.serverSideApply(ctx, w.objects, desired, metav1.PatchOptions{FieldManager: a.Manager, Force: new(true)})
}

// tieToOwner adds to an object what ties it to its owner, and changes nothing else. It is a merge
// patch: a server-side apply would remove what the policy has applied for an owner before.
func (a *Applier) tieToOwner(ctx context.Context, w actionWrite, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	metadata := map[string]any{
		"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion(),
		"labels": ownKeys(w.Object.GetLabels()), "annotations": ownKeys(w.Object.GetAnnotations()),
	}
	if references := w.Object.GetOwnerReferences(); len(references) > 0 {
		metadata["ownerReferences"] = references // MayAdopt has found none of others
	}
	body, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", describeAction(w.Action), err)
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
