package apply

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/ambit-dev/ambit/pkg/plan"
)

func (a *Applier) delete(ctx context.Context, objects dynamic.ResourceInterface, action plan.Action, t Target) Outcome {
	background := metav1.DeletePropagationBackground
	err := objects.Delete(ctx, action.Name, metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &action.UID, ResourceVersion: &action.ResourceVersion},
		PropagationPolicy: &background,
	})
	switch {
	case err == nil:
		return Outcome{Deleted: true}
	case apierrors.IsNotFound(err):
		return Outcome{}
	case apierrors.IsConflict(err):
		return Outcome{Stale: true}
	}
	return a.refused(err, "delete", action, t)
}
