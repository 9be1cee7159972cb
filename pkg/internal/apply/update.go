package apply

import (
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
)

// isAnother says whether a write was refused because the object of that name is
// not, or not any more, the one that the write was meant for.
func isAnother(err error) bool {
	return apierrors.IsConflict(err) || isGone(err) || isOtherUID(err)
}

// isOtherUID says whether the API server refused a write because the object of
// that name is another one: it takes the uid for a change of an immutable field.
func isOtherUID(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Field == "metadata.uid" })
}

// migrateManager turns our managedFields entry of operation Update into one of
// operation Apply. It reads the object, because the cache keeps only our own
// entries. Its result is false when the apply must not go on.
func (a *Applier) migrateManager(ctx context.Context, w actionWrite) (Outcome, bool) {
	live, err := w.objects.Get(ctx, w.Name, metav1.GetOptions{})
	if isGone(err) {
		return Outcome{Stale: true}, false
	}
	if err != nil {
		return a.refusedOutcome(err, "get", w), false
	}
	if live.GetUID() != w.UID || !w.isControlledAsWanted(live) {
		return Outcome{Stale: true}, false
	}
	splitEntry(live, w, a.Manager)
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(live, sets.New(a.Manager), a.Manager)
	if err != nil {
		return a.refusedOutcome(err, "patch", w), false
	}
	if len(patch) == 0 {
		return Outcome{}, true
	}
	_, err = w.objects.Patch(ctx, w.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: a.Manager})
	if isAnother(err) || apierrors.IsInvalid(err) {
		return Outcome{Stale: true}, false
	}
	if err != nil {
		return a.refusedOutcome(err, "patch", w), false
	}
	return Outcome{}, true
}

// isControlledAsWanted says whether an object of the right uid is still ours: the
// uid alone says that where no ownerReference ties the object to its owner.
func (w actionWrite) isControlledAsWanted(live *unstructured.Unstructured) bool {
	controller := metav1.GetControllerOfNoCopy(live)
	if controller == nil {
		return metav1.GetControllerOfNoCopy(w.Object) == nil
	}
	return controller.UID == w.OwnerUID
}
