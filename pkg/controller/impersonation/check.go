// Package impersonation tells whether a policy may act as its ServiceAccount. Before anything is done as
// that, Ambit's own account has to be allowed to impersonate it and to see that it exists: the
// permissions of a ServiceAccount outlive it, and impersonation does not ask whether it is there.
package impersonation

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/controller/placepermissions"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/permitted"
	"github.com/ambit-dev/ambit/pkg/plan"
)

var serviceAccounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}

// Account is a ServiceAccount, and who acts as it.
type Account struct {
	Namespace, Name string
	// By is who Ambit itself is, for messages.
	By string
}

// PermittedQuery is what has to be permitted and watched; the reviews are sent on a payer's account.
func (a Account) PermittedQuery(payer access.Payer) permitted.Query {
	return permitted.Query{
		Namespace: a.Namespace, Resources: []schema.GroupVersionResource{serviceAccounts}, Name: a.Name,
		Verbs: []string{"impersonate"}, TryUndecided: true, Payer: payer,
	}
}

// RefusedProblem is the problem of an impersonation that the API server has refused.
func (a Account) RefusedProblem() *plan.Problem { return a.deniedProblem("impersonate") }

func (a Account) deniedProblem(verbs ...string) *plan.Problem {
	p := &plan.Problem{Reason: v1alpha1.ReasonForbidden, Terminal: true}
	if verbs[0] == "impersonate" {
		p.Reason = v1alpha1.ReasonImpersonationRefused
	}
	p.Message = fmt.Sprintf("cannot %s serviceaccounts %q in namespace %q as %s", strings.Join(verbs, ", "), a.Name, a.Namespace, a.By)
	for _, verb := range verbs {
		p.Denied = append(p.Denied, v1alpha1.DeniedAccess{
			Verb: verb, Resource: serviceAccounts.Resource, Namespace: a.Namespace, Name: a.Name, Message: p.Message,
		})
	}
	return p
}

// Watch is what is used of a permitted.Watch on Account.PermittedQuery.
type Watch interface {
	Require() permitted.Permission
	ReadObjects() ([]*unstructured.Unstructured, informer.Status)
}

// CheckAccount has the permission reviewed and the account watched, and returns what keeps a policy from
// acting as the account; or, while that is being found out, how long to wait.
func CheckAccount(a Account, watch Watch, now time.Time) (*plan.Problem, time.Duration) {
	switch permission := watch.Require(); {
	case !permission.Reviewed:
		return nil, permissionset.ReviewGrace
	case permission.Decision == permitted.Denied:
		return a.deniedProblem(access.VerbsOf(permission.Missing)...), 0
	}
	found, status := watch.ReadObjects()
	switch {
	case status.State == informer.Forbidden && now.Sub(status.Since) < placepermissions.ConfirmGrace:
		return nil, placepermissions.ConfirmGrace
	case status.State == informer.Forbidden:
		return a.deniedProblem("watch"), 0
	case !status.Synced:
		return nil, permissionset.ReviewGrace
	case len(found) == 0:
		return &plan.Problem{Reason: v1alpha1.ReasonServiceAccountMissing, Terminal: true,
			Message: fmt.Sprintf("ServiceAccount %q does not exist in namespace %q", a.Name, a.Namespace)}, 0
	}
	return nil, 0
}
