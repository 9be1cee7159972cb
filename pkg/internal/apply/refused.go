package apply

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// refused turns an error of the API server into a problem that says what was
// tried, on what, and whether waiting can mend it.
func (a *Applier) refused(err error, verb string, action plan.Action, t Target) Outcome {
	p := &plan.Problem{Reason: v1alpha1.ReasonUnavailable, Message: fmt.Sprintf("cannot %s %s: %s", verb, describe(action), answer(err, action))}
	switch {
	case apierrors.IsUnauthorized(err):
		p.Reason, p.Terminal = v1alpha1.ReasonUnauthenticated, true
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		p.Reason = v1alpha1.ReasonNamespaceTerminating
	case apierrors.IsForbidden(err) && isMissingRight(err):
		a.forbid(p, err, verb, action, t)
	case apierrors.IsForbidden(err):
		p.Reason, p.Terminal = v1alpha1.ReasonRefused, true
	case isBadObject(err):
		p.Reason, p.Terminal = v1alpha1.ReasonInvalid, true
	}
	return Outcome{Problem: p}
}

func (a *Applier) forbid(p *plan.Problem, err error, verb string, action plan.Action, t Target) {
	p.Reason, p.Terminal = v1alpha1.ReasonForbidden, true
	p.Message = fmt.Sprintf("cannot %s %s in namespace %q as %s", verb, qualified(t.Resource), action.Namespace, a.Identity)
	p.Denied = []v1alpha1.DeniedAccess{{
		Verb: verb, Group: t.Resource.Group, Resource: t.Resource.Resource,
		Namespace: action.Namespace, Message: err.Error(),
	}}
}

// answer is what the API server said. Of a bad Secret it may quote the content.
func answer(err error, action plan.Action) string {
	if action.GVK.Kind == "Secret" && isBadObject(err) {
		return "the API server refuses it as invalid; its answer may quote the Secret and is not shown"
	}
	return err.Error()
}

// isMissingRight tells the authorizer's 403 from the ones that admission gives
// (quota, escalation, policies). There is no machine-readable difference: the
// authorizer's answer is worded `User "x" cannot create resource "y"`.
func isMissingRight(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	text := status.Status().Message
	return strings.Contains(text, `User "`) && strings.Contains(text, " cannot ") && strings.Contains(text, ` resource "`)
}

// isBadObject says whether the API server understood the request and refuses
// the object as such. A server-side apply with a field that the schema does not
// have is answered with a plain 500, which only its wording tells from a fault.
func isBadObject(err error) bool {
	if apierrors.IsInternalError(err) || apierrors.ReasonForError(err) == metav1.StatusReasonUnknown {
		return strings.Contains(err.Error(), "failed to create typed patch object")
	}
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsMethodNotSupported(err) ||
		apierrors.IsRequestEntityTooLargeError(err) || apierrors.ReasonForError(err) == metav1.StatusReasonNotAcceptable
}

func describe(action plan.Action) string {
	return fmt.Sprintf("%s %s/%s", action.GVK.Kind, action.Namespace, action.Name)
}

func qualified(gvr schema.GroupVersionResource) string {
	return gvr.GroupResource().String()
}
