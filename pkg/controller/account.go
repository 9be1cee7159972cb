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

// account is the ServiceAccount that a policy acts as. Before anything is done as
// it, Ambit's own account has to be allowed to impersonate it and to see that it
// exists: the rights of a ServiceAccount outlive it, and impersonation does not
// ask whether it is there. It is comparable and subscribes to both.
type account struct{ operator *operator }

var (
	_ access.ChangeHandler  = accountRights{}
	_ informer.EventHandler = account{}
)

// accountRights is an account as a subscriber of what Ambit may do with it.
type accountRights struct{ account }

// Changed implements access.ChangeHandler.
func (a accountRights) Changed(access.Key) { a.operator.engine.enqueue(Key{Policy: a.operator.id}) }

// Changed implements informer.EventHandler.
func (a account) Changed(event informer.Event) {
	if isRefused(event) {
		for _, wanted := range a.accesses()[1:] {
			a.operator.engine.options.Access.ReportDenied(a.place(), wanted)
		}
	}
	a.operator.engine.enqueue(Key{Policy: a.operator.id})
}

func (op *operator) account() account { return account{op} }

var serviceAccounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}

func (a account) name() string      { return a.operator.program.ServiceAccount }
func (a account) namespace() string { return a.operator.program.Namespace }

// place is where Ambit's own account has to be allowed things.
func (a account) place() access.Key { return access.Key{Namespace: a.namespace()} }

func (a account) accesses() []access.Access {
	list := make([]access.Access, 0, 3)
	for _, verb := range []string{"impersonate", "list", "watch"} {
		list = append(list, access.Access{Verb: verb, Resource: serviceAccounts.Resource, Name: a.name()})
	}
	return list
}

// check says what keeps the policy from acting as its account; or, while that is
// being found out, how long to wait. Policies that act as Ambit itself have
// neither.
func (a account) check() (*plan.Problem, time.Duration) {
	if a.name() == "" {
		return nil, 0
	}
	rights := a.operator.engine.options.Access
	rights.Require(accountRights{a}, a.place(), a.accesses(), access.Payer{Group: a.operator.id})
	if state := rights.State(a.place()); !state.Reviewed && state.Refusal == nil {
		return nil, reviewGrace
	}
	if all, denied := decide(rights, a.place(), a.accesses()); all == access.Denied {
		a.operator.engine.options.Informers.Require(a, nil)
		return a.denied(verbsOf(denied)...), 0
	}
	return a.exists()
}

// exists looks whether the account is there.
func (a account) exists() (*plan.Problem, time.Duration) {
	views := a.operator.engine.options.Informers.Require(a, []informer.Interest{{
		Key: informer.Key{GVR: serviceAccounts, Namespace: a.namespace(), FieldSelector: "metadata.name=" + a.name(), Form: informer.Form{Metadata: true}},
	}})
	found, status := views[0].Read()
	switch {
	case status.State == informer.Forbidden && a.operator.engine.now().Sub(status.Since) < confirmGrace:
		return nil, confirmGrace
	case status.State == informer.Forbidden:
		return a.denied("watch"), 0
	case !status.Synced:
		return nil, reviewGrace
	case len(found) == 0:
		return &plan.Problem{Reason: v1alpha1.ReasonServiceAccountMissing, Terminal: true,
			Message: fmt.Sprintf("ServiceAccount %q does not exist in namespace %q", a.name(), a.namespace())}, 0
	}
	return nil, 0
}

// refused is the problem of an impersonation that the API server has refused.
func (a account) refused() *plan.Problem { return a.denied("impersonate") }

func (a account) denied(verbs ...string) *plan.Problem {
	p := &plan.Problem{Reason: v1alpha1.ReasonForbidden, Terminal: true}
	if verbs[0] == "impersonate" {
		p.Reason = v1alpha1.ReasonImpersonationRefused
	}
	p.Message = fmt.Sprintf("cannot %s serviceaccounts %q in namespace %q as %s", strings.Join(verbs, ", "), a.name(), a.namespace(), a.operator.engine.options.Identity)
	for _, verb := range verbs {
		p.Denied = append(p.Denied, v1alpha1.DeniedAccess{
			Verb: verb, Resource: serviceAccounts.Resource, Namespace: a.namespace(), Name: a.name(), Message: p.Message,
		})
	}
	return p
}

// release gives back what check asked for.
func (a account) release() {
	if a.name() == "" {
		return
	}
	a.operator.engine.options.Access.Require(accountRights{a}, a.place(), nil, access.Payer{})
	a.operator.engine.options.Informers.Require(a, nil)
}
