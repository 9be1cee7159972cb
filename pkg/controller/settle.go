package controller

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
)

// lookedAt notes that this version has looked at an owner: it has declared what it needs
// for it.
func (op *operator) lookedAt(name types.NamespacedName) {
	op.mu.Lock()
	defer op.mu.Unlock()
	op.owners.MarkLookedAt(name)
}

// isSettled says whether this version has declared all that it needs of what older ones
// had.
func (op *operator) isSettled() bool {
	switch {
	case op.incomplete.Load():
		return false
	case op.program.Suspend:
		return true
	}
	op.mu.Lock()
	defer op.mu.Unlock()
	ensures := op.seen || len(op.program.Ensured) == 0
	return op.halted || ensures && op.owners.CountOwners().Inherited == 0 && op.hasListedLocked(true)
}

// settle forgets what older versions knew. If namespaces were listed for them, it is seen
// whether this one needs that.
func (op *operator) settle() {
	op.mu.Lock()
	op.bequests = nil
	op.mu.Unlock()
	if op.spaces.Load() != nil {
		op.engine.enqueue(Key{Policy: op.id})
	}
}

// isServing says whether it is known where owners may be watched, and each stream of them
// has delivered its first list.
func (op *operator) isServing() bool {
	op.mu.Lock()
	defer op.mu.Unlock()
	return op.hasListedLocked(false)
}

// isNowhere is Report.Nowhere. Of a kind that is not there, there are no owners to watch.
func (op *operator) isNowhere() bool {
	if _, _, err := op.engine.discovery.Lookup(op.program.Owner.GVK); meta.IsNoMatchError(err) {
		return false
	}
	op.mu.Lock()
	defer op.mu.Unlock()
	return op.surveyed && !op.halted && len(op.views) == 0 && len(op.candidates) > 0
}

// hasListedLocked says whether it is known where owners may be watched, and each stream of
// them has delivered its first list or, if that counts as well, was refused. The caller
// holds mu.
func (op *operator) hasListedLocked(refused bool) bool {
	if !op.surveyed || op.halted || op.adopted == nil {
		return false
	}
	for _, view := range op.views {
		if status := view.Status(); !status.Synced && !(refused && status.State.Final()) {
			return false
		}
	}
	return true
}
