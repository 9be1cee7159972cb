package apply

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// WriteMetadata makes the owner's metadata say what mark does: whether our finalizer stands
// on it, and the record of its children. Everything else of it stays as it is. It
// is one request, which holds only for the owner as it was read; none if the owner
// says so already.
//
// owner must have been read with its metadata.finalizers and metadata.annotations:
// a finalizer of somebody else that is not in it would go. It is not changed.
//
// The outcome has the owner as it is now in Object; Deleted if it is gone, for
// ours was the last finalizer of a deleted owner; nothing if there was nothing to
// do or the owner is gone already.
func (a *Applier) WriteMetadata(ctx context.Context, objects dynamic.ResourceInterface, owner *unstructured.Unstructured, mark plan.OwnerMetadata) Outcome {
	changes := changesOf(owner, mark)
	if len(changes) == 0 {
		return Outcome{}
	}
	return a.patchOwner(ctx, objects, owner, changes)
}

// VerifyOwner asks whether the owner is still as it was read, by a write that changes nothing: a
// stream may be behind. The outcome is as that of Mark.
func (a *Applier) VerifyOwner(ctx context.Context, objects dynamic.ResourceInterface, owner *unstructured.Unstructured) Outcome {
	return a.patchOwner(ctx, objects, owner, map[string]any{})
}

// patchOwner changes metadata of the owner, if it is as it was read.
func (a *Applier) patchOwner(ctx context.Context, objects dynamic.ResourceInterface, owner *unstructured.Unstructured, changes map[string]any) Outcome {
	changes["uid"], changes["resourceVersion"] = owner.GetUID(), owner.GetResourceVersion()
	body, err := json.Marshal(map[string]any{"metadata": changes})
	if err != nil {
		return a.ownerOutcome(err, owner)
	}
	marked, err := objects.Patch(ctx, owner.GetName(), types.MergePatchType, body, metav1.PatchOptions{FieldManager: a.Manager})
	switch {
	case isGone(err):
		return Outcome{}
	case err != nil && isAnother(err):
		return Outcome{Stale: true}
	case err != nil:
		return a.ownerOutcome(err, owner)
	case marked.GetDeletionTimestamp() != nil && len(marked.GetFinalizers()) == 0:
		return Outcome{Deleted: true}
	}
	return Outcome{Object: marked}
}

// changesOf is the metadata of a merge patch; empty if there is nothing to change.
func changesOf(owner *unstructured.Unstructured, mark plan.OwnerMetadata) map[string]any {
	changes := map[string]any{}
	finalizers := owner.GetFinalizers()
	if slices.Contains(finalizers, v1alpha1.FinalizerCleanup) != mark.Finalizer {
		changes["finalizers"] = withFinalizer(finalizers, mark.Finalizer)
	}
	if record, has := owner.GetAnnotations()[v1alpha1.AnnotationChildren]; record != mark.Children || has && record == "" {
		changes["annotations"] = map[string]any{v1alpha1.AnnotationChildren: textOrNull(mark.Children)}
	}
	return changes
}

// withFinalizer returns the list with our finalizer last or without it; nil for
// an empty one, which a merge patch removes.
func withFinalizer(list []string, want bool) []string {
	if want {
		return append(slices.Clone(list), v1alpha1.FinalizerCleanup)
	}
	list = slices.DeleteFunc(slices.Clone(list), func(f string) bool { return f == v1alpha1.FinalizerCleanup })
	if len(list) == 0 {
		return nil
	}
	return list
}

func textOrNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// ownerOutcome is refused for an owner. Its resource is in the API server's answer.
func (a *Applier) ownerOutcome(err error, owner *unstructured.Unstructured) Outcome {
	w := actionWrite{Action: plan.Action{GVK: owner.GroupVersionKind(), Namespace: owner.GetNamespace(), Name: owner.GetName()}}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		details := status.Status().Details
		w.Resource = schema.GroupVersionResource{Group: details.Group, Version: w.GVK.Version, Resource: details.Kind}
	}
	return a.refusedOutcome(err, "patch", w)
}
