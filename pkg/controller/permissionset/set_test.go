package permissionset

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
)

var (
	deployments = schema.GroupResource{Group: "apps", Resource: "deployments"}
	pods        = schema.GroupResource{Resource: "pods"}
	caches      = schema.GroupResource{Group: "example.com", Resource: "caches"}
)

func TestForbidden(t *testing.T) {
	cases := map[string]struct {
		reason    string
		missing   Missing
		namespace string
		want      string
		resource  string
	}{
		"Namespace": {
			reason:  "every verb is named, with resource, namespace and identity",
			missing: Missing{Resource: deployments, Verbs: []string{"get", "list"}}, namespace: "a",
			want: `cannot get, list deployments.apps in namespace "a" as ambit`, resource: "deployments",
		},
		"Subresource": {
			reason:  "a subresource comes after the group, as in kubectl, and with the resource in an access",
			missing: Missing{Resource: caches, Subresource: "status", Verbs: []string{"patch"}}, namespace: "a",
			want: `cannot patch caches.example.com/status in namespace "a" as ambit`, resource: "caches/status",
		},
		"Everywhere": {
			reason:  "no namespace means all",
			missing: Missing{Resource: pods, Verbs: []string{"watch"}},
			want:    `cannot watch pods in all namespaces as ambit`, resource: "pods",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := (Place{Namespace: tc.namespace, User: "ambit"}).ForbiddenProblem(tc.missing)
			if got.Message != tc.want || got.Reason != v1alpha1.ReasonForbidden || !got.Terminal {
				t.Errorf("%s: got %+v, want %q", tc.reason, got, tc.want)
			}
			var verbs []string
			for _, d := range got.Denied {
				verbs = append(verbs, d.Verb)
				if d.Resource != tc.resource || d.Group != tc.missing.Resource.Group || d.Namespace != tc.namespace {
					t.Errorf("%s: denied is %+v", tc.reason, d)
				}
			}
			if diff := cmp.Diff(tc.missing.Verbs, verbs); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestProblemFor(t *testing.T) {
	r := &Set{Missing: []Missing{
		{Resource: deployments, Verbs: []string{"get", "create"}, Problem: plan.Problem{Message: "deployments"}},
		{Resource: caches, Subresource: "status", Verbs: []string{"patch"}, Problem: plan.Problem{Message: "status"}},
	}}
	cases := map[string]struct {
		reason      string
		resource    schema.GroupResource
		subresource string
		verbs       []string
		want        string
	}{
		"OneOfSome":        {reason: "one missing verb is enough", resource: deployments, verbs: []string{"list", "create"}, want: "deployments"},
		"OtherVerbs":       {reason: "verbs that are there are not lacked", resource: deployments, verbs: []string{"list", "watch"}},
		"OtherResource":    {reason: "another resource is not concerned", resource: pods, verbs: []string{"get"}},
		"Subresource":      {reason: "a subresource is a thing of its own", resource: caches, subresource: "status", verbs: []string{"patch"}, want: "status"},
		"NotOfSubresource": {reason: "the object is not its subresource", resource: caches, verbs: []string{"patch"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			if problem := r.ProblemFor(tc.resource, tc.subresource, tc.verbs...); problem != nil {
				got = problem.Message
			}
			if got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
	if got, want := r.String(), "deployments; status"; got != want {
		t.Errorf("in words it is %q, want %q", got, want)
	}
}

func TestPendingFor(t *testing.T) {
	since := time.Unix(1000, 0)
	cases := map[string]struct {
		reason string
		rights Set
		after  time.Duration
		want   time.Duration
	}{
		"Reviewed": {reason: "there is an answer", rights: Set{Reviewed: true}},
		"Fresh":    {reason: "it is waited for", want: ReviewGrace},
		"Later":    {reason: "but no longer than that", after: ReviewGrace - time.Second, want: time.Second},
		"Over":     {reason: "then work goes on without", after: ReviewGrace + time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.rights.PendingFor(since, since.Add(tc.after)); got != tc.want {
				t.Errorf("%s: got %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

// TestRestrict: what an owner does not require is of use to it at most, and the set of all is as it was.
func TestRestrict(t *testing.T) {
	place := Place{Namespace: "a", User: "ambit"}
	all := &Set{Reviewed: true}
	all.AddDenied(place, []access.Access{
		{Verb: "watch", Resource: "pods"}, {Verb: "list", Resource: "pods"}, {Verb: "get", Group: "apps", Resource: "deployments"},
	}, false)
	all.AddDenied(place, []access.Access{{Verb: "list", Group: "example.com", Resource: "caches"}}, true)
	if got, want := all.RequiredText(), `cannot list, watch pods in namespace "a" as ambit; cannot get deployments.apps in namespace "a" as ambit`; got != want {
		t.Errorf("all require %q, want %q", got, want)
	}
	own := all.RestrictTo(place, func(m Missing, verb string) bool { return m.Resource == pods && verb == "list" })
	if got, want := own.RequiredText(), `cannot list pods in namespace "a" as ambit`; got != want {
		t.Errorf("one requires %q, want %q", got, want)
	}
	if own.MayWatch(pods) || own.MayWatch(caches) || own.ProblemFor(deployments, "", "get") == nil || !own.Reviewed {
		t.Errorf("what it does not require is granted: %s", own)
	}
	if len(own.RequiredProblems(nil)) != 1 || len(all.RequiredProblems(nil)) != 2 || own.IsSame(all) || !all.IsSame(all) || all.IsSame(nil) {
		t.Errorf("one has %s, and all have %s", own, all)
	}
	if none := (&Set{Reviewed: true}); none.RestrictTo(place, nil) != none || !none.MayWatch(pods) {
		t.Error("where nothing is missing it is another set")
	}
}
