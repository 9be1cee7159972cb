package controller

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/controller/placepermissions"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/permitted"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// impersonationCheck is the ServiceAccount that a policy acts as. Before anything is done as
// it, Ambit's own account has to be allowed to impersonate it and to see that it
// exists: the rights of a ServiceAccount outlive it, and impersonation does not
// ask whether it is there. It belongs to the worker that has the policy's own key, but for
// refusedProblem, which is safe for concurrent use.
type impersonationCheck struct {
	operator *policyController
	account  *permitted.Watch // nil: the policy acts as Ambit itself
}

func (op *policyController) newImpersonationCheck() impersonationCheck {
	a := impersonationCheck{operator: op}
	if a.accountName() != "" {
		a.account = op.controller.permitted.NewWatch(permitted.Query{
			Namespace: a.accountNamespace(), Resources: []schema.GroupVersionResource{serviceAccounts}, Name: a.accountName(),
			Verbs: []string{"impersonate"}, TryUndecided: true, Payer: access.Payer{Group: op.id},
		}, op.enqueuePolicy)
	}
	return a
}

var serviceAccounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}

func (a impersonationCheck) accountName() string      { return a.operator.program.ServiceAccount }
func (a impersonationCheck) accountNamespace() string { return a.operator.program.Namespace }

// checkPermitted says what keeps the policy from acting as its account; or, while that is
// being found out, how long to wait. Policies that act as Ambit itself have
// neither.
func (a impersonationCheck) checkPermitted() (*plan.Problem, time.Duration) {
	if a.account == nil {
		return nil, 0
	}
	switch permission := a.account.Require(); {
	case !permission.Reviewed:
		return nil, permissionset.ReviewGrace
	case permission.Decision == permitted.Denied:
		return a.deniedProblem(verbsOf(permission.Missing)...), 0
	}
	return a.checkExists()
}

// checkExists looks whether the account is there.
func (a impersonationCheck) checkExists() (*plan.Problem, time.Duration) {
	found, status := a.account.Read()
	switch {
	case status.State == informer.Forbidden && a.operator.controller.now().Sub(status.Since) < placepermissions.ConfirmGrace:
		return nil, placepermissions.ConfirmGrace
	case status.State == informer.Forbidden:
		return a.deniedProblem("watch"), 0
	case !status.Synced:
		return nil, permissionset.ReviewGrace
	case len(found) == 0:
		return &plan.Problem{Reason: v1alpha1.ReasonServiceAccountMissing, Terminal: true,
			Message: fmt.Sprintf("ServiceAccount %q does not exist in namespace %q", a.accountName(), a.accountNamespace())}, 0
	}
	return nil, 0
}

// refusedProblem is the problem of an impersonation that the API server has refused.
func (a impersonationCheck) refusedProblem() *plan.Problem { return a.deniedProblem("impersonate") }

func (a impersonationCheck) deniedProblem(verbs ...string) *plan.Problem {
	p := &plan.Problem{Reason: v1alpha1.ReasonForbidden, Terminal: true}
	if verbs[0] == "impersonate" {
		p.Reason = v1alpha1.ReasonImpersonationRefused
	}
	p.Message = fmt.Sprintf("cannot %s serviceaccounts %q in namespace %q as %s", strings.Join(verbs, ", "), a.accountName(), a.accountNamespace(), a.operator.controller.options.Identity)
	for _, verb := range verbs {
		p.Denied = append(p.Denied, v1alpha1.DeniedAccess{
			Verb: verb, Resource: serviceAccounts.Resource, Namespace: a.accountNamespace(), Name: a.accountName(), Message: p.Message,
		})
	}
	return p
}

// releaseAll gives back what checkPermitted asked for.
func (a impersonationCheck) releaseAll() {
	if a.account != nil {
		a.account.Release()
	}
}
