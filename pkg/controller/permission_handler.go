package controller

import (
	"time"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
)

// permissionHandler is one namespace of a policy, or all of them, as a subscriber of what may
// be done there. It is comparable: equal values are the same subscriber.
type permissionHandler struct {
	operator  *policyController
	namespace string
}

var _ access.ChangeHandler = permissionHandler{}

// Changed implements access.ChangeHandler. What is no longer permitted is closed at
// once; then the policy and the owners that are concerned look at it anew. News
// that is nothing to this policy ends here.
func (p permissionHandler) Changed(access.Key) {
	op := p.operator
	r, ok := op.currentPermissions(p.namespace)
	if !ok {
		return
	}
	before, changed, doubted := op.setPermissions(p.namespace, r)
	if changed {
		op.closeRevoked(p.namespace, r)
		if p.namespace == allNamespaces {
			op.recheckNamespaces(r)
		}
		op.controller.enqueue(Key{Policy: op.id})
		if before != nil && before.Reviewed && before.String() != "" {
			op.controller.rbacWatcher.checkSoon()
		}
	}
	if changed || doubted {
		op.enqueueOwnersOf(p.namespace)
	}
}

// setPermissions says whether rights are others than when this was last asked, which were they
// then (nil: it is the first time), and whether somebody waits for a refusal to be
// confirmed.
func (op *policyController) setPermissions(namespace string, r *permissionset.Set) (before *permissionset.Set, changed, doubted bool) {
	op.mu.Lock()
	defer op.mu.Unlock()
	a, ok := op.permissionRequests[namespace]
	if !ok {
		return nil, false, false
	}
	before, changed, doubted = a.told, a.told != r, a.doubted
	if before == nil { // nothing was told since other things are asked
		before = a.before
	}
	a.told, a.doubted = r, false
	return before, changed, doubted
}

// permissionRequest is what was asked about a place, and the answer. It is guarded by mu of its
// policy controller, but for accesses and required, which do not change.
type permissionRequest struct {
	accesses []access.Access
	required int // of accesses: the first ones; the rest is of use only
	extent   reviewScope
	payer    access.Payer
	complete bool // every kind was known, so that there is no more to ask
	since    time.Time
	state    access.State       // as of rights
	rights   *permissionset.Set // nil: not looked at yet
	before   *permissionset.Set // of what was asked about the place before this; may be nil
	told     *permissionset.Set // what was acted upon last
	logged   string             // what was logged to be missing
	doubted  bool               // a request was refused against the rights
}

// answer is the last one there was about the place, or nil.
func (a *permissionRequest) answer() *permissionset.Set {
	if a.rights != nil {
		return a.rights
	}
	return a.before
}
