package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/plan/claims"
)

func (a *Applier) createObject(ctx context.Context, w actionWrite) Outcome {
	object, write, outcome, ok := a.withValues(ctx, w)
	if !ok {
		return outcome
	}
	defer write.WipePrivate()
	made, err := w.writer.Create(ctx, object, metav1.CreateOptions{FieldManager: a.Manager, FieldValidation: metav1.FieldValidationStrict})
	if err == nil {
		return Outcome{Object: made, IsPartial: a.Writer != nil}
	}
	if apierrors.IsAlreadyExists(err) {
		return a.resolveExisting(ctx, w)
	}
	return a.refusedOutcome(err, "create", w)
}

// resolveExisting finds out whether the object that a create met is an own one
// that the cache has not shown yet, or one to be adopted.
func (a *Applier) resolveExisting(ctx context.Context, w actionWrite) Outcome {
	live, err := w.objects.Get(ctx, w.Name, metav1.GetOptions{})
	switch {
	case isGone(err):
		return Outcome{Stale: true}
	case err != nil:
		outcome := a.refusedOutcome(err, "get", w)
		if outcome.Problem != nil && outcome.Problem.Reason == v1alpha1.ReasonForbidden {
			outcome.Problem.Message = fmt.Sprintf("%s exists, and whose it is cannot be seen: %s", describeAction(w.Action), outcome.Problem.Message)
		}
		return outcome
	case a.isOurs(live, w):
		return a.resolveFound(live, w)
	case w.Adopt:
		return a.adoptObject(ctx, w, live)
	}
	return Outcome{Problem: claims.NameConflict(live, w.claimantOf())}
}

// resolveFound is how a create ends that met an object with our proof. Another policy may
// have made it for the same owner; and owners of built-in kinds control objects that
// their own controllers make.
func (a *Applier) resolveFound(live *unstructured.Unstructured, w actionWrite) Outcome {
	other, why := otherPolicy(live, w.Object.GetLabels()[v1alpha1.LabelPolicy]), ""
	switch {
	case other != "":
		why = fmt.Sprintf("was made for this owner by policy %q", other)
	case live.GetLabels()[v1alpha1.LabelPolicy] == "" && w.Claim == "" && !managesFields(live, a.Manager):
		why = "has this owner for its controller, but this policy has not made it"
	}
	if why == "" {
		return Outcome{Object: live, Met: true}
	}
	return Outcome{Problem: &plan.Problem{Reason: v1alpha1.ReasonNameConflict, Terminal: true,
		Message: fmt.Sprintf("%s %s; it is left as it is", describeAction(w.Action), why)}}
}
