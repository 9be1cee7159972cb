package controller

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// impersonationCheck is the ServiceAccount that a policy acts as. Before anything is done as
// it, Ambit's own account has to be allowed to impersonate it and to see that it
// exists: the rights of a ServiceAccount outlive it, and impersonation does not
// ask whether it is there. It is comparable and subscribes to both.
type impersonationCheck struct{ operator *policyController }

var (
	_ access.ChangeHandler  = impersonationRights{}
	_ informer.EventHandler = impersonationCheck{}
)

// impersonationRights is an account as a subscriber of what Ambit may do with it.
type impersonationRights struct{ impersonationCheck }

// Changed implements access.ChangeHandler.
func (a impersonationRights) Changed(access.Key) {
	a.operator.controller.enqueue(Key{Policy: a.operator.id})
}

// Changed implements informer.EventHandler.
func (a impersonationCheck) Changed(event informer.Event) {
	if isRefused(event) {
		for _, wanted := range a.requiredAccess()[1:] {
			a.operator.controller.options.Access.ReportDenied(a.accountKey(), wanted)
		}
	}
	a.operator.controller.enqueue(Key{Policy: a.operator.id})
}

func (op *policyController) newImpersonationCheck() impersonationCheck { return impersonationCheck{op} }

var serviceAccounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}

func (a impersonationCheck) accountName() string      { return a.operator.program.ServiceAccount }
func (a impersonationCheck) accountNamespace() string { return a.operator.program.Namespace }

// accountKey is where Ambit's own account has to be allowed things.
func (a impersonationCheck) accountKey() access.Key {
	return access.Key{Namespace: a.accountNamespace()}
}

func (a impersonationCheck) requiredAccess() []access.Access {
	list := make([]access.Access, 0, 3)
	for _, verb := range []string{"impersonate", "list", "watch"} {
		list = append(list, access.Access{Verb: verb, Resource: serviceAccounts.Resource, Name: a.accountName()})
	}
	return list
}

// checkPermitted says what keeps the policy from acting as its account; or, while that is
// being found out, how long to wait. Policies that act as Ambit itself have
// neither.
func (a impersonationCheck) checkPermitted() (*plan.Problem, time.Duration) {
	if a.accountName() == "" {
		return nil, 0
	}
	rights := a.operator.controller.options.Access
	rights.Require(impersonationRights{a}, a.accountKey(), a.requiredAccess(), access.Payer{Group: a.operator.id})
	if state := rights.State(a.accountKey()); !state.Reviewed && state.Refusal == nil {
		return nil, reviewGrace
	}
	if all, denied := decideAll(rights, a.accountKey(), a.requiredAccess()); all == access.Denied {
		a.operator.controller.options.Informers.Require(a, nil)
		return a.deniedProblem(verbsOf(denied)...), 0
	}
	return a.checkExists()
}

// checkExists looks whether the account is there.
func (a impersonationCheck) checkExists() (*plan.Problem, time.Duration) {
	views := a.operator.controller.options.Informers.Require(a, []informer.Interest{{
		Key: informer.Key{GVR: serviceAccounts, Namespace: a.accountNamespace(), FieldSelector: "metadata.name=" + a.accountName(), Form: informer.Form{Metadata: true}},
	}})
	found, status := views[0].Read()
	switch {
	case status.State == informer.Forbidden && a.operator.controller.now().Sub(status.Since) < confirmGrace:
		return nil, confirmGrace
	case status.State == informer.Forbidden:
		return a.deniedProblem("watch"), 0
	case !status.Synced:
		return nil, reviewGrace
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

// releaseAll gives back what check asked for.
func (a impersonationCheck) releaseAll() {
	if a.accountName() == "" {
		return
	}
	a.operator.controller.options.Access.Require(impersonationRights{a}, a.accountKey(), nil, access.Payer{})
	a.operator.controller.options.Informers.Require(a, nil)
}
