package controller

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/impersonation"
	"github.com/ambit-dev/ambit/pkg/controller/placepermissions"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// resourceNeeds returns what the policy needs, of the kinds that are known by now, and whether that is all.
func (op *policyController) resourceNeeds() (list []placepermissions.Need, complete bool) {
	return op.kinds.ResourceNeeds(op.isClusterScoped.Load())
}

// requiredScope says how much is asked about a namespace for the sake of owners.
func (e permissionEvents) requiredScope(namespace string) placepermissions.Scope {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.owners.WorkingIn(namespace) > 0:
		return placepermissions.AtHome
	case e.ownerViews.IsCandidate(namespace):
		return placepermissions.ToSee
	}
	return placepermissions.AsUsed
}

// isServed says whether a namespace was named, or an owner was ever seen there.
func (e permissionEvents) isServed(namespace string) bool {
	return e.ownerViews.HasServed(namespace) || slices.Contains(e.scope.NamedNamespaces(), namespace)
}

// refusalProblem is the problem of an identity that is refused as such, by an error that is not nil.
func (e permissionEvents) refusalProblem(err error) *plan.Problem {
	switch {
	case apierrors.IsUnauthorized(err):
		return &plan.Problem{Reason: v1alpha1.ReasonUnauthenticated, Terminal: true,
			Message: fmt.Sprintf("the API server does not accept %s: %v", e.userName(), err)}
	case e.identity != "":
		return e.actingAccount().RefusedProblem()
	}
	// Not even reviews are allowed: what may be done is found out by doing it.
	return nil
}

// actingAccount is the ServiceAccount that the policy acts as; without a name it acts as Ambit itself.
func (op *policyController) actingAccount() impersonation.Account {
	return impersonation.Account{Namespace: op.program.Namespace, Name: op.program.ServiceAccount, By: op.controller.options.Identity}
}
