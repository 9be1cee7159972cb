package controller

import (
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/impersonation"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/controller/placepermissions"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// permissionEvents is what package placepermissions asks and tells of a policy. It is for any goroutine.
type permissionEvents struct{ *policyController }

// permissionsChanged acts upon a change. What is no longer permitted is closed at once; then the
// policy and the owners that are concerned look at it anew.
func (e permissionEvents) permissionsChanged(c placepermissions.Change) {
	if c.IsNew {
		e.closeRevoked(c.Place, c.Now)
		if c.Place == allNamespaces {
			e.recheckNamespaces(c.Now)
		}
		e.controller.enqueueKey(Key{Policy: e.id})
		if c.Before != nil && c.Before.Reviewed && c.Before.String() != "" {
			e.controller.rights.CheckSoon()
		}
	}
	e.enqueueOwnersOf(c.Place)
}

// closeRevoked closes the streams that are no longer permitted.
func (e permissionEvents) closeRevoked(namespace string, r *permissionset.Set) {
	close := func(covers func(schema.GroupResource) bool, why string) {
		e.controller.options.Informers.RevokeInformers(func(key informer.Key) bool {
			return key.Identity == e.identity && key.Namespace == namespace && covers(key.GVR.GroupResource())
		}, errors.New(why))
	}
	if r.Refusal != nil {
		close(func(schema.GroupResource) bool { return true }, r.Refusal.Message)
		return
	}
	for _, m := range r.Missing {
		if r.ProblemFor(m.Resource, "", "list", "watch") != nil {
			close(func(resource schema.GroupResource) bool { return resource == m.Resource }, m.Problem.Message)
		}
	}
}

// recheckNamespaces opens the streams of single namespaces anew that were permitted because
// something was permitted in all: perhaps they are no longer, and each will be
// reviewed, but that takes its time.
func (e permissionEvents) recheckNamespaces(everywhere *permissionset.Set) {
	e.controller.options.Informers.ExpireWatches(func(key informer.Key) bool {
		return key.Identity == e.identity && key.Namespace != allNamespaces && !everywhere.MayWatch(key.GVR.GroupResource())
	})
}

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
