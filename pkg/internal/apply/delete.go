package apply

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// deleteObject removes the object of the action's uid; if the action has a
// resourceVersion, only as it was then.
func (a *Applier) deleteObject(ctx context.Context, w actionWrite) Outcome {
	only := &metav1.Preconditions{UID: &w.UID}
	if w.ResourceVersion != "" {
		only.ResourceVersion = &w.ResourceVersion
	}
	err := w.objects.Delete(ctx, w.Name, metav1.DeleteOptions{
		Preconditions: only, PropagationPolicy: new(metav1.DeletePropagationBackground),
	})
	switch {
	case err == nil:
		return leaveBehind(ctx, w)
	case isGone(err):
		return Outcome{}
	case apierrors.IsConflict(err):
		return Outcome{Stale: true}
	}
	return a.refusedOutcome(err, "delete", w)
}

// leaveBehind says what an accepted deletion has left: an object with a finalizer, or one that
// ends by and by, is there until it is gone, and so is what it needs.
func leaveBehind(ctx context.Context, w actionWrite) Outcome {
	live, err := w.objects.Get(ctx, w.Name, metav1.GetOptions{})
	switch {
	case err == nil && live.GetUID() == w.UID:
		return Outcome{Object: live}
	case err == nil, isGone(err):
		return Outcome{Deleted: true}
	}
	return Outcome{Stale: true} // the cache will know
}
