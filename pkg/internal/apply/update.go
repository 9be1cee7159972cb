package apply

import (
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/csaupgrade"

	"github.com/ambit-dev/ambit/pkg/plan"
)

func (a *Applier) apply(ctx context.Context, objects dynamic.ResourceInterface, action plan.Action, t Target) Outcome {
	if action.Migrate {
		if outcome, ok := a.migrate(ctx, objects, action, t); !ok {
			return outcome
		}
	}
	desired := action.Object.DeepCopy()
	desired.SetUID(action.UID)
	body, err := desired.MarshalJSON()
	if err != nil {
		return a.refused(err, "patch", action, t)
	}
	force := true
	applied, err := objects.Patch(ctx, action.Name, types.ApplyPatchType, body, metav1.PatchOptions{
		FieldManager: a.Manager, Force: &force, FieldValidation: metav1.FieldValidationStrict,
	})
	if err == nil {
		return Outcome{Object: applied}
	}
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) || isOtherUID(err) {
		return Outcome{Stale: true}
	}
	return a.refused(err, "patch", action, t)
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

// migrate turns our managedFields entry of operation Update into one of
// operation Apply. It reads the object, because the cache keeps only our own
// entries. Its result is false when the apply must not go on.
func (a *Applier) migrate(ctx context.Context, objects dynamic.ResourceInterface, action plan.Action, t Target) (Outcome, bool) {
	live, err := objects.Get(ctx, action.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return Outcome{Stale: true}, false
	}
	if err != nil {
		return a.refused(err, "get", action, t), false
	}
	if live.GetUID() != action.UID || !isOwnedBy(live, t) {
		return Outcome{Stale: true}, false
	}
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(live, sets.New(a.Manager), a.Manager)
	if err != nil {
		return a.refused(err, "patch", action, t), false
	}
	if len(patch) == 0 {
		return Outcome{}, true
	}
	_, err = objects.Patch(ctx, action.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: a.Manager})
	if apierrors.IsConflict(err) || apierrors.IsInvalid(err) || apierrors.IsNotFound(err) {
		return Outcome{Stale: true}, false
	}
	if err != nil {
		return a.refused(err, "patch", action, t), false
	}
	return Outcome{}, true
}
