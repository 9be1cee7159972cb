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

// newPermissions returns the tracker of what the policy may do.
func (op *policyController) newPermissions() *placepermissions.Tracker {
	o := op.controller.options
	return placepermissions.New(placepermissions.Options{
		Policy: op.id, Identity: op.identity, User: op.userName(), Reviewer: o.Access,
		Needs: op.resourceNeeds, ResourceOf: op.kinds.ResourceOf, IsClusterScoped: op.isClusterScoped.Load,
		ScopeOf: op.requiredScope, IsServed: op.isServed, IsReplaced: op.revision.IsReplaced,
		WantsClusterWide: op.program.Informers == v1alpha1.InformersCluster,
		Refused:          op.refusalProblem, Changed: op.permissionsChanged,
		Now: op.controller.now, Logger: o.Logger,
	})
}

// resourceNeeds returns what the policy needs, of the kinds that are known by now, and whether that is all.
func (op *policyController) resourceNeeds() (list []placepermissions.Need, complete bool) {
	return op.kinds.ResourceNeeds(op.isClusterScoped.Load())
}

// requiredScope says how much is asked about a namespace for the sake of owners.
func (op *policyController) requiredScope(namespace string) placepermissions.Scope {
	op.mu.Lock()
	defer op.mu.Unlock()
	switch {
	case op.owners.WorkingIn(namespace) > 0:
		return placepermissions.AtHome
	case op.ownerViews.IsCandidate(namespace):
		return placepermissions.ToSee
	}
	return placepermissions.AsUsed
}

// isServed says whether a namespace was named, or an owner was ever seen there.
func (op *policyController) isServed(namespace string) bool {
	return op.ownerViews.HasServed(namespace) || slices.Contains(op.scope.NamedNamespaces(), namespace)
}

// permissionsChanged acts upon a change. What is no longer permitted is closed at once; then the
// policy and the owners that are concerned look at it anew.
func (op *policyController) permissionsChanged(c placepermissions.Change) {
	if c.IsNew {
		op.closeRevoked(c.Place, c.Now)
		if c.Place == allNamespaces {
			op.recheckNamespaces(c.Now)
		}
		op.controller.enqueue(Key{Policy: op.id})
		if c.Before != nil && c.Before.Reviewed && c.Before.String() != "" {
			op.controller.rbacWatcher.checkSoon()
		}
	}
	op.enqueueOwnersOf(c.Place)
}

// placeFor is a place, for messages.
func (op *policyController) placeFor(namespace string) permissionset.Place {
	return permissionset.Place{Namespace: namespace, User: op.userName()}
}

// refusalProblem is the problem of an identity that is refused as such, by an error that is not nil.
func (op *policyController) refusalProblem(err error) *plan.Problem {
	switch {
	case apierrors.IsUnauthorized(err):
		return &plan.Problem{Reason: v1alpha1.ReasonUnauthenticated, Terminal: true,
			Message: fmt.Sprintf("the API server does not accept %s: %v", op.userName(), err)}
	case op.identity != "":
		return op.actingAccount().RefusedProblem()
	}
	// Not even reviews are allowed: what may be done is found out by doing it.
	return nil
}

// actingAccount is the ServiceAccount that the policy acts as; without a name it acts as Ambit itself.
func (op *policyController) actingAccount() impersonation.Account {
	return impersonation.Account{Namespace: op.program.Namespace, Name: op.program.ServiceAccount, By: op.controller.options.Identity}
}

// closeRevoked closes the streams that are no longer permitted.
func (op *policyController) closeRevoked(namespace string, r *permissionset.Set) {
	close := func(covers func(schema.GroupResource) bool, why string) {
		op.controller.options.Informers.RevokeInformers(func(key informer.Key) bool {
			return key.Identity == op.identity && key.Namespace == namespace && covers(key.GVR.GroupResource())
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
func (op *policyController) recheckNamespaces(everywhere *permissionset.Set) {
	op.controller.options.Informers.ExpireWatches(func(key informer.Key) bool {
		return key.Identity == op.identity && key.Namespace != allNamespaces && !everywhere.MayWatch(key.GVR.GroupResource())
	})
}
