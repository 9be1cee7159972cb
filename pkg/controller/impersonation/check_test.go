package impersonation

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/controller/placepermissions"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/permitted"
)

// fakeWatch answers as a test says.
type fakeWatch struct {
	permission permitted.Permission
	status     informer.Status
	objects    []*unstructured.Unstructured
}

func (w fakeWatch) Require() permitted.Permission { return w.permission }

func (w fakeWatch) ReadObjects() ([]*unstructured.Unstructured, informer.Status) {
	return w.objects, w.status
}

func TestCheckAccount(t *testing.T) {
	now := time.Unix(1000, 0)
	allowed := permitted.Permission{Decision: permitted.Allowed, Reviewed: true}
	missing := func(verbs ...string) permitted.Permission {
		p := permitted.Permission{Decision: permitted.Denied, Reviewed: true}
		for _, verb := range verbs {
			p.Missing = append(p.Missing, access.Access{Verb: verb, Resource: "serviceaccounts", Name: "bot"})
		}
		return p
	}
	forbidden := func(since time.Duration) informer.Status {
		return informer.Status{State: informer.Forbidden, Since: now.Add(-since)}
	}
	cases := map[string]struct {
		reason  string
		watch   fakeWatch
		problem string // its reason and message
		wait    time.Duration
	}{
		"Unreviewed":  {reason: "it is waited for the review", wait: permissionset.ReviewGrace},
		"Impersonate": {reason: "the verb is what is missing first", watch: fakeWatch{permission: missing("impersonate", "watch")}, problem: `ImpersonationRefused: cannot impersonate, watch serviceaccounts "bot" in namespace "team" as ambit`},
		"Unseen":      {reason: "it may be gone, and nobody would know", watch: fakeWatch{permission: missing("watch")}, problem: `Forbidden: cannot watch serviceaccounts "bot" in namespace "team" as ambit`},
		"JustRefused": {reason: "a review is to confirm a refusal", watch: fakeWatch{permission: allowed, status: forbidden(0)}, wait: placepermissions.ConfirmGrace},
		"Refused":     {reason: "the API server's answer counts", watch: fakeWatch{permission: allowed, status: forbidden(time.Minute)}, problem: `Forbidden: cannot watch serviceaccounts "bot" in namespace "team" as ambit`},
		"Syncing":     {reason: "it is waited for the first list", watch: fakeWatch{permission: allowed}, wait: permissionset.ReviewGrace},
		"Missing":     {reason: "it does not exist", watch: fakeWatch{permission: allowed, status: informer.Status{Synced: true}}, problem: `ServiceAccountMissing: ServiceAccount "bot" does not exist in namespace "team"`},
		"There":       {reason: "nothing is in the way", watch: fakeWatch{permission: allowed, status: informer.Status{Synced: true}, objects: []*unstructured.Unstructured{{}}}},
	}
	account := Account{Namespace: "team", Name: "bot", By: "ambit"}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			problem, wait := CheckAccount(account, tc.watch, now)
			text := ""
			if problem != nil {
				text = problem.Reason + ": " + problem.Message
			}
			if text != tc.problem || wait != tc.wait {
				t.Errorf("%s: got %q, wait %s; want %q, wait %s", tc.reason, text, wait, tc.problem, tc.wait)
			}
		})
	}
}

// TestDenied: each missing verb is one denial, of the account by its name.
func TestDenied(t *testing.T) {
	p := Account{Namespace: "team", Name: "bot", By: "ambit"}.RefusedProblem()
	want := v1alpha1.DeniedAccess{Verb: "impersonate", Resource: "serviceaccounts", Namespace: "team", Name: "bot", Message: p.Message}
	if len(p.Denied) != 1 || p.Denied[0] != want || !p.Terminal {
		t.Errorf("got %+v", p)
	}
}
