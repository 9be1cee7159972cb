package controller

import "k8s.io/apimachinery/pkg/types"

// forgetOwner gives back all that an owner needed. It is called on the owner's turn, or
// when there are no turns any more.
func (op *policyController) forgetOwner(name types.NamespacedName) {
	op.mu.Lock()
	_, uid := op.owners.WorkOf(name)
	was := op.owners.StopWork(name, op.ownerViews.IsSeen(name.Namespace), op.isHalted)
	delete(op.cleanupBlockers, name)
	op.quarantine.RecordSuccess(name)
	op.costs.Forget(name)
	if was.Last {
		op.ownerViews.ForgetScans(name.Namespace)
	}
	op.mu.Unlock()
	if !op.revision.IsReplaced() { // else the next one goes on with the owner
		op.reconciles.LostWrites.ForgetOwner(uid)
		op.controller.wakes.Remove(op.subscriberFor(name).key)
	}
	if was.Inspected {
		op.stopInspection(name)
	}
	op.stopOwnerProbe(name)
	op.kinds.ReleaseAllKinds(name)
	if was.Worked {
		op.controller.options.Informers.Require(op.subscriberFor(name), nil)
		op.permissions.SetUses(name, nil)
	}
	if was.Last {
		op.permissions.ReleaseOwners(name.Namespace)
	}
	if was.Last || was.Inherited {
		op.recheckScope(name.Namespace)
	}
}

// recheckScope has the policy look again at where it watches, if a namespace that it no longer
// wants has only been watched for the sake of owners that were there.
func (op *policyController) recheckScope(namespace string) {
	if !op.inScope(namespace) {
		op.controller.enqueueKey(Key{Policy: op.id})
	}
}
