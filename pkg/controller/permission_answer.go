package controller

import (
	"time"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
)

// currentPermissions returns what may be done in a namespace; false: nobody asked. The rights
// are the same pointer until they change.
func (op *policyController) currentPermissions(namespace string) (*permissionset.Set, bool) {
	for {
		op.mu.Lock()
		a, ok := op.permissionRequests[namespace]
		if !ok {
			op.mu.Unlock()
			return nil, false
		}
		known, old := a.state, a.rights
		op.mu.Unlock()
		state := op.controller.options.Access.State(access.Key{Identity: op.identity, Namespace: namespace})
		if old != nil && sameAnswer(known, state) {
			return old, true
		}
		if r, ok := op.takePermissions(namespace, a, old, state); ok {
			return r, true
		}
	}
}

// takePermissions makes rights of an answer; false: another worker was faster.
func (op *policyController) takePermissions(namespace string, a *permissionRequest, old *permissionset.Set, state access.State) (*permissionset.Set, bool) {
	r := op.judgePermissions(namespace, a, state)
	if old != nil && old.Reviewed {
		r.Reviewed = true // that more is asked by others does not undo it
	}
	op.mu.Lock()
	if a.rights != old || op.permissionRequests[namespace] != a || a.state.Generation > state.Generation {
		op.mu.Unlock()
		return nil, false
	}
	a.state = state
	if r.IsSame(old) {
		op.mu.Unlock()
		return old, true
	}
	if old == nil && r.IsSame(a.before) {
		a.rights = a.before
		op.mu.Unlock()
		return a.before, true
	}
	a.rights = r
	op.mu.Unlock()
	op.tellRights(namespace, a, r)
	return r, true
}

// rightsIn returns what may be done for the owners of a namespace, and how long to
// wait while the first answer is not in. Where all was found to be permitted
// cluster-wide, nothing is asked about single namespaces.
func (op *policyController) rightsIn(namespace string) (*permissionset.Set, time.Duration) {
	if r, ok := op.currentPermissions(allNamespaces); ok && op.hasAll(r) {
		return r, 0
	}
	op.requirePermissions(namespace, atHome)
	r, ok := op.currentPermissions(namespace)
	if !ok || !op.requiresEverything(namespace) { // by the last owner that left in this moment
		return nil, confirmGrace
	}
	return r, r.PendingFor(op.requestedSince(namespace), op.controller.now())
}

// rightsAt is rightsIn for a place that an owner makes use of, which is asked about
// already.
func (op *policyController) rightsAt(place string) (*permissionset.Set, time.Duration) {
	if r, ok := op.currentPermissions(allNamespaces); ok && op.hasAll(r) {
		return r, 0
	}
	r, ok := op.currentPermissions(place)
	if !ok {
		return nil, confirmGrace
	}
	return r, r.PendingFor(op.requestedSince(place), op.controller.now())
}

// hasAll says whether the rights about all namespaces are all that is needed.
func (op *policyController) hasAll(r *permissionset.Set) bool {
	op.mu.Lock()
	defer op.mu.Unlock()
	a, ok := op.permissionRequests[allNamespaces]
	return ok && a.extent == everything && a.complete && r.Reviewed && r.Refusal == nil && len(r.Missing) == 0
}

func (op *policyController) requiresEverything(namespace string) bool {
	op.mu.Lock()
	defer op.mu.Unlock()
	a, ok := op.permissionRequests[namespace]
	return ok && a.extent >= atHome
}

// requestedSince is when a namespace was first asked about.
func (op *policyController) requestedSince(namespace string) time.Time {
	op.mu.Lock()
	defer op.mu.Unlock()
	if a, ok := op.permissionRequests[namespace]; ok {
		return a.since
	}
	return op.controller.now()
}

// sameAnswer says whether nothing has changed that is acted upon.
func sameAnswer(a, b access.State) bool {
	return a.Generation == b.Generation && a.Reviewed == b.Reviewed && (a.Refusal == nil) == (b.Refusal == nil)
}
