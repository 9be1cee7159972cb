package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
)

func (a *Applier) create(ctx context.Context, objects dynamic.ResourceInterface, action plan.Action, t Target) Outcome {
	made, err := objects.Create(ctx, action.Object, metav1.CreateOptions{FieldManager: a.Manager, FieldValidation: metav1.FieldValidationStrict})
	if err == nil {
		return Outcome{Object: made}
	}
	if apierrors.IsAlreadyExists(err) {
		return a.resolveExisting(ctx, objects, action, t)
	}
	return a.refused(err, "create", action, t)
}

// resolveExisting finds out whether the object that a create met is an own one
// that the cache has not shown yet.
func (a *Applier) resolveExisting(ctx context.Context, objects dynamic.ResourceInterface, action plan.Action, t Target) Outcome {
	live, err := objects.Get(ctx, action.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return Outcome{Stale: true}
	case err != nil:
		outcome := a.refused(err, "get", action, t)
		if outcome.Problem != nil && outcome.Problem.Reason == v1alpha1.ReasonForbidden {
			outcome.Problem.Message = fmt.Sprintf("%s exists, and whose it is cannot be seen: %s", describe(action), outcome.Problem.Message)
		}
		return outcome
	case !isOwnedBy(live, t):
		return Outcome{Problem: plan.NameConflict(live)}
	}
	if other := live.GetLabels()[v1alpha1.LabelPolicy]; other != "" && other != action.Object.GetLabels()[v1alpha1.LabelPolicy] {
		return Outcome{Problem: &plan.Problem{Reason: v1alpha1.ReasonNameConflict, Terminal: true,
			Message: fmt.Sprintf("%s was made for this owner by policy %q; it is left as it is", describe(action), other)}}
	}
	return Outcome{Object: live, Met: true}
}

func isOwnedBy(obj *unstructured.Unstructured, t Target) bool {
	ref := metav1.GetControllerOfNoCopy(obj)
	return ref != nil && ref.UID == t.OwnerUID
}
