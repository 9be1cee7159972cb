package controller

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/placeuses"
	"github.com/ambit-dev/ambit/pkg/policy"
)

var (
	deployments = schema.GroupResource{Group: "apps", Resource: "deployments"}
	pods        = schema.GroupResource{Resource: "pods"}
	caches      = schema.GroupResource{Group: "example.com", Resource: "caches"}
)

// operatorAs is an policy controller of a policy that acts as an account, or as Ambit.
func operatorAs(account string) *policyController {
	e := &Controller{options: Options{Identity: "ambit"}}
	return newPolicyController(e, &policy.Program{Name: "p", Namespace: "team", ServiceAccount: account})
}

func TestAccesses(t *testing.T) {
	needs := []resourceNeed{
		{Need: policy.Need{Parts: []string{policy.OwnerPart, "web"}, Verbs: []string{"get", "list", "watch", "create"}}, resource: caches},
		{Need: policy.Need{Parts: []string{policy.OwnerPart}, Subresource: "status", Verbs: []string{"patch"}}, resource: caches},
		{Need: policy.Need{Parts: []string{"pods"}, Verbs: []string{"list", "watch"}}, resource: pods},
		{Need: policy.Need{Parts: []string{"copy"}, Verbs: []string{"create", "list"}}, resource: deployments, elsewhere: true},
	}
	of := func(verb, subresource string, resource schema.GroupResource) access.Access {
		return access.Access{Verb: verb, Group: resource.Group, Resource: resource.Resource, Subresource: subresource}
	}
	seeing := []access.Access{of("list", "", caches), of("watch", "", caches)}
	whole := []access.Access{
		of("get", "", caches), of("list", "", caches), of("watch", "", caches), of("create", "", caches),
		of("patch", "status", caches), of("list", "", pods), of("watch", "", pods),
	}
	creating := []access.Access{of("create", "", deployments), of("list", "", deployments)}
	cases := map[string]struct {
		reason   string
		place    string
		extent   reviewScope
		used     []placeuses.Use
		want     []access.Access
		required int
	}{
		"ToSee":      {reason: "to see owners takes list and watch, whatever else is done with that kind", place: "a", extent: toSee, want: seeing, required: 2},
		"AtHome":     {reason: "in their namespace all is needed that is not elsewhere", place: "a", extent: atHome, want: whole, required: 7},
		"Everything": {reason: "in search of owners nothing is required in all namespaces", extent: everything, want: slices.Concat(whole, creating)},
		"Used":       {reason: "elsewhere only what is made use of", place: "b", used: []placeuses.Use{{Part: "copy"}}, want: creating, required: 2},
		"Optional":   {reason: "what is only of use there is only looked at", place: "b", used: []placeuses.Use{{Part: "copy", Optional: true}}, want: creating[1:]},
		"Both":       {reason: "a place may be both", place: "a", extent: toSee, used: []placeuses.Use{{Part: "copy"}}, want: slices.Concat(seeing, creating), required: 4},
		"Unused":     {reason: "nothing is asked without a use", place: "b"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, required := operatorAs("").requiredAccess(needs, tc.place, tc.extent, tc.used)
			if diff := cmp.Diff(tc.want, got); diff != "" || required != tc.required {
				t.Errorf("%s: %d of them required, want %d (-want +got):\n%s", tc.reason, required, tc.required, diff)
			}
		})
	}
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
		"None":          {reason: "no error, no problem", account: "bot"},
		"Unauthorized":  {reason: "a 401 is about the credentials", err: unauthorized, want: v1alpha1.ReasonUnauthenticated},
		"Impersonation": {reason: "a 403 of a review as somebody else is the impersonation's", account: "bot", err: forbidden, want: v1alpha1.ReasonImpersonationRefused},
		"NoReviews":     {reason: "where Ambit may not even ask, it finds out by trying", err: forbidden},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			if problem := operatorAs(tc.account).refusalProblem(tc.err); problem != nil {
				got = problem.Reason
			}
			if got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestCovers(t *testing.T) {
	cases := map[string]struct {
		reason    string
		territory watchScope
		want      bool
	}{
		"Everywhere":          {reason: "a cluster-wide stream shows it", territory: watchScope{streams: []string{allNamespaces}}, want: true},
		"Own":                 {reason: "its stream shows it", territory: watchScope{streams: []string{"a", "b"}}, want: true},
		"Undecided":           {reason: "it is not known yet, so nothing is given up", territory: watchScope{undecided: []string{"a"}}, want: true},
		"UndecidedEverywhere": {reason: "nor while it is not known whether there are cluster-wide rights", territory: watchScope{undecided: []string{allNamespaces}}, want: true},
		"Other":               {reason: "only others are watched", territory: watchScope{streams: []string{"b"}}},
		"Nowhere":             {reason: "nothing is"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.territory.coversNamespace("a"); got != tc.want {
				t.Errorf("%s: got %t", tc.reason, got)
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
