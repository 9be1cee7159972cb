package controller

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
)

// markLookedAt notes that this version has looked at an owner: it has declared what it needs
// for it.
func (op *policyController) markLookedAt(name types.NamespacedName) {
	op.mu.Lock()
	defer op.mu.Unlock()
	op.owners.MarkLookedAt(name)
}

// isSettled says whether this version has declared all that it needs of what older ones
// had.
func (op *policyController) isSettled() bool {
	switch {
	case op.incomplete.Load():
		return false
	case op.program.Suspend:
		return true
	}
	op.mu.Lock()
	defer op.mu.Unlock()
	ensures := op.haveEnsured || len(op.program.Ensured) == 0
	return op.isHalted || ensures && op.owners.CountOwners().Inherited == 0 && op.ownerViews.HasListed(true)
}

// endSuccession forgets what older versions knew. If namespaces were listed for them, it is seen
// whether this one needs that.
func (op *policyController) endSuccession() {
	op.permissions.ForgetInherited()
	if op.namespaceList.FollowedList() != nil {
		op.controller.enqueue(Key{Policy: op.id})
	}
}

// isServing says whether it is known where owners may be watched, and each stream of them
// has delivered its first list.
func (op *policyController) isServing() bool {
	op.mu.Lock()
	defer op.mu.Unlock()
	return !op.isHalted && op.ownerViews.HasListed(false)
}

// isNowhere is Report.Nowhere. Of a kind that is not there, there are no owners to watch.
func (op *policyController) isNowhere() bool {
	if _, _, err := op.controller.discovery.Lookup(op.program.Owner.GVK); meta.IsNoMatchError(err) {
		return false
	}
	op.mu.Lock()
	defer op.mu.Unlock()
	return !op.isHalted && op.ownerViews.SeesNowhere()
}
