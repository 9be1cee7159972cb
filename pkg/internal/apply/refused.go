package apply

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// refusedOutcome turns an error of the API server into a problem that says what was
// tried, on what, and whether waiting can mend it.
func (a *Applier) refusedOutcome(err error, verb string, w actionWrite) Outcome {
	p := &plan.Problem{Reason: v1alpha1.ReasonUnavailable, Message: fmt.Sprintf("cannot %s %s: %s", verb, describeAction(w.Action), answerText(err, w.Action))}
	switch {
	case apierrors.IsUnauthorized(err):
		p.Reason, p.Terminal = v1alpha1.ReasonUnauthenticated, true
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		p.Reason = v1alpha1.ReasonNamespaceTerminating
	case isMissingKind(err):
		p.Reason, p.Terminal = v1alpha1.ReasonKindMissing, true
	case apierrors.IsForbidden(err) && isImpersonation(err):
		p.Reason, p.Terminal = v1alpha1.ReasonImpersonationRefused, true
	case access.IsMissingRight(err):
		a.setForbidden(p, err, verb, w)
	case isDeniedByAdmission(err):
		p.Reason, p.Terminal = admissionReason(err), true
	case isBadObject(err):
		p.Reason, p.Terminal = v1alpha1.ReasonInvalid, true
	}
	return Outcome{Problem: p}
}

// isImpersonation tells that the caller may not be who they say they are. Kubernetes 1.36
// words it `User "x" cannot impersonate resource "serviceaccounts"`, or, with constrained
// impersonation, `User "x" cannot impersonate-on:serviceaccount:get resource "configmaps"`.
func isImpersonation(err error) bool {
	return strings.Contains(err.Error(), "cannot impersonate resource") || strings.Contains(err.Error(), "cannot impersonate-on:")
}

func (a *Applier) setForbidden(p *plan.Problem, err error, verb string, w actionWrite) {
	p.Reason, p.Terminal = v1alpha1.ReasonForbidden, true
	p.Message = fmt.Sprintf("cannot %s %s%s as %s", verb, w.Resource.GroupResource(), inNamespace(w.Namespace), a.Identity)
	p.Denied = []v1alpha1.DeniedAccess{{
		Verb: verb, Group: w.Resource.Group, Resource: w.Resource.Resource,
		Namespace: w.Namespace, Message: err.Error(),
	}}
}

// answerText is what the API server said. Of a bad Secret it may quote the content.
func answerText(err error, action plan.Action) string {
	if action.GVK.Kind == "Secret" && isBadObject(err) {
		return "the API server refuses it as invalid; its answer may quote the Secret and is not shown"
	}
	return err.Error()
}

// isGone says whether there is no such object, of a kind that is served: what is
// not served any more, or not in this version, may still be there.
func isGone(err error) bool { return apierrors.IsNotFound(err) && !isMissingKind(err) }

// isMissingKind says whether the API server does not serve the resource, or is
// about to stop: what is left of a kind that is being deleted can only be deleted.
func isMissingKind(err error) bool {
	if strings.Contains(err.Error(), "while custom resource definition is terminating") {
		return true
	}
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details == nil || details.Name == "" // a namespace or an object that is missing is named
}

// isDeniedByAdmission says whether the identity had the right, and what comes
// after authorization refused the object: a 403 that is not the authorizer's, or
// the answer of a webhook or a ValidatingAdmissionPolicy, which choose their code.
func isDeniedByAdmission(err error) bool {
	text := err.Error()
	return apierrors.IsForbidden(err) || strings.Contains(text, "denied the request") ||
		strings.Contains(text, "ValidatingAdmissionPolicy") && strings.Contains(text, "denied request")
}

// admissionReason tells refusals after authorization apart, which only their
// wording does: quota admission says `exceeded quota`, or `failed quota` where an
// object lacks what a quota counts; the escalation check of RBAC says that the
// user `is attempting to grant RBAC permissions not currently held`.
func admissionReason(err error) string {
	switch text := err.Error(); {
	case strings.Contains(text, "exceeded quota:"), strings.Contains(text, "failed quota:"):
		return v1alpha1.ReasonQuotaExceeded
	case strings.Contains(text, "is attempting to grant RBAC permissions not currently held"):
		return v1alpha1.ReasonEscalationRefused
	}
	return v1alpha1.ReasonAdmissionDenied
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

func describeAction(action plan.Action) string {
	if action.Namespace == "" {
		return fmt.Sprintf("%s %s", action.GVK.Kind, action.Name)
	}
	return fmt.Sprintf("%s %s/%s", action.GVK.Kind, action.Namespace, action.Name)
}

// inNamespace says in which namespace, if there is one.
func inNamespace(namespace string) string {
	if namespace == "" {
		return ""
	}
	return fmt.Sprintf(" in namespace %q", namespace)
}
