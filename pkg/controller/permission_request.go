package controller

import (
	"slices"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/controller/placeuses"
)

// requirePermissions keeps an eye on what may be done in a place, to an extent at least. What was
// asked before stays so until it is dropped.
func (op *policyController) requirePermissions(namespace string, e reviewScope) {
	op.mu.Lock()
	before, ok := op.permissionRequests[namespace]
	enough := ok && before.complete && before.extent >= e
	op.mu.Unlock()
	if enough {
		return
	}
	op.requestMutex.Lock()
	defer op.requestMutex.Unlock()
	op.mu.Lock()
	if before, ok := op.permissionRequests[namespace]; ok { // perhaps by another worker, in between
		e = max(e, before.extent)
	}
	op.mu.Unlock()
	op.putRequestLocked(namespace, e)
}

// requirePermissionsAnew declares anew what is asked about each place: a kind may have another resource
// than it had.
func (op *policyController) requirePermissionsAnew() {
	op.requestMutex.Lock()
	defer op.requestMutex.Unlock()
	op.mu.Lock()
	extents := make(map[string]reviewScope, len(op.permissionRequests))
	for namespace, a := range op.permissionRequests {
		extents[namespace] = a.extent
	}
	op.mu.Unlock()
	for _, namespace := range sortedKeys(extents) {
		op.putRequestLocked(namespace, extents[namespace])
	}
}

// putRequest declares what is asked about a place, unless that is what was asked before.
func (op *policyController) putRequest(namespace string, e reviewScope) {
	op.requestMutex.Lock()
	defer op.requestMutex.Unlock()
	op.putRequestLocked(namespace, e)
}

// putRequestLocked is put; the caller holds asking.
func (op *policyController) putRequestLocked(namespace string, e reviewScope) {
	needs, complete := op.resourceNeeds()
	op.mu.Lock()
	used := op.placeUses.UsesIn(namespace)
	op.mu.Unlock()
	next := &permissionRequest{extent: e, complete: complete, since: op.controller.now()}
	next.accesses, next.required = op.requiredAccess(needs, namespace, e, used)
	op.mu.Lock()
	next.payer = op.payerLocked(namespace, e)
	before, ok := op.permissionRequests[namespace]
	if ok && slices.Equal(before.accesses, next.accesses) && before.required == next.required {
		before.extent, before.complete = e, complete
		if before.payer != next.payer {
			before.payer = next.payer
			op.controller.options.Access.Require(permissionHandler{op, namespace}, access.Key{Identity: op.identity, Namespace: namespace}, before.accesses, before.payer)
		}
		op.mu.Unlock()
		return
	}
	if ok {
		next.since, next.logged, next.before = before.since, before.logged, before.answer()
	} else if known, ok := op.inheritedPermissions[namespace]; ok {
		next.logged, next.before, next.told = known.logged, known.answer, known.told
	}
	op.permissionRequests[namespace] = next
	// In one step, which makes no request: what is known of accesses that are not kept may
	// be hours old, and nobody is to take it for the answer.
	op.controller.options.Access.Require(permissionHandler{op, namespace}, access.Key{Identity: op.identity, Namespace: namespace}, next.accesses, next.payer)
	op.mu.Unlock()
}

// payerLocked is on whose account a place is asked about: the policy's own where owners
// are, or are looked for, else that of an owner that makes use of it. The caller holds mu.
func (op *policyController) payerLocked(namespace string, e reviewScope) access.Payer {
	payer, used := op.placeUses.PayerOf(namespace)
	if e > asUsed || namespace == allNamespaces || !used {
		return access.Payer{Group: op.id}
	}
	return access.Payer{Group: op.id, Tenant: placeuses.TenantOf(payer), Name: payer.Name}
}

// releasePermissions is called when the last owner in a namespace is gone: nothing more is asked
// about it than what it takes to see the next one, if it is there that one is
// looked for, and what owners elsewhere make use of there.
func (op *policyController) releasePermissions(namespace string) {
	op.requestMutex.Lock()
	defer op.requestMutex.Unlock()
	op.releasePermissionsLocked(namespace)
}

// releasePermissionsLocked is leave; the caller holds asking. It also takes the answer in: that less
// is asked is no news to anybody, and what is still missing is reported all the same.
func (op *policyController) releasePermissionsLocked(namespace string) {
	defer op.currentPermissions(namespace)
	op.mu.Lock()
	busy, candidate := op.owners.WorkingIn(namespace) > 0, slices.Contains(op.candidates, namespace)
	used := op.placeUses.IsUsed(namespace)
	op.mu.Unlock()
	switch {
	case busy: // another one has come
	case namespace == allNamespaces: // it is asked about for all
	case candidate:
		op.putRequestLocked(namespace, toSee)
	case used:
		op.putRequestLocked(namespace, asUsed)
	default:
		op.dropRequestLocked(namespace)
	}
}

// dropRequest forgets a place, but for what owners make use of there.
func (op *policyController) dropRequest(namespace string) {
	op.requestMutex.Lock()
	defer op.requestMutex.Unlock()
	op.mu.Lock()
	used := op.placeUses.IsUsed(namespace)
	op.mu.Unlock()
	if used {
		defer op.currentPermissions(namespace) // as in leaveLocked
		op.putRequestLocked(namespace, asUsed)
		return
	}
	op.dropRequestLocked(namespace)
}

// dropRequestLocked asks nothing about a place any more; the caller holds asking.
func (op *policyController) dropRequestLocked(namespace string) {
	op.mu.Lock()
	_, ok := op.permissionRequests[namespace]
	delete(op.permissionRequests, namespace)
	op.mu.Unlock()
	if ok {
		op.controller.options.Access.Require(permissionHandler{op, namespace}, access.Key{Identity: op.identity, Namespace: namespace}, nil, access.Payer{})
	}
}
