package controller

import (
	"errors"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// operatorAs is a policy controller of a policy that acts as an account, or as Ambit.
func operatorAs(account string) *policyController {
	e := &Controller{options: Options{Identity: "ambit"}}
	return newPolicyController(e, &policy.Program{Name: "p", Namespace: "team", ServiceAccount: account})
}

func TestRefusal(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "serviceaccounts"}, "bot", errors.New("no"))
	unauthorized := apierrors.NewGenericServerResponse(http.StatusUnauthorized, "post", schema.GroupResource{}, "", "", 0, true)
	cases := map[string]struct {
		reason  string
		account string
		err     error
		want    string
	}{
		"Unauthorized":  {reason: "a 401 is about the credentials", err: unauthorized, want: v1alpha1.ReasonUnauthenticated},
		"Impersonation": {reason: "a 403 of a review as somebody else is the impersonation's", account: "bot", err: forbidden, want: v1alpha1.ReasonImpersonationRefused},
		"NoReviews":     {reason: "where Ambit may not even ask, it finds out by trying", err: forbidden},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			if problem := (permissionEvents{operatorAs(tc.account)}).refusalProblem(tc.err); problem != nil {
				got = problem.Reason
			}
			if got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestDenialKind(t *testing.T) {
	for _, tc := range []struct {
		reason string
		denied v1alpha1.DeniedAccess
		want   string
	}{
		{"a core resource", v1alpha1.DeniedAccess{Resource: "pods"}, "pods"},
		{"one with a group", v1alpha1.DeniedAccess{Group: "apps", Resource: "deployments"}, "deployments.apps"},
		{"a subresource", v1alpha1.DeniedAccess{Group: "example.com", Resource: "caches/status"}, "caches.example.com/status"},
	} {
		if got := (Denial{DeniedAccess: tc.denied}).Kind(); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
		}
	}
}
