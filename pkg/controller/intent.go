package controller

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/pkg/controller/owners"
	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/plan/selection"
)

// intent is what a reconcile over an owner is for.
type intent int

const (
	// intentIgnore: there is nothing to do for the owner.
	intentIgnore intent = iota
	// intentReconcile: the owner is to be as the policy describes it, or cleaned up after if it
	// is being deleted.
	intentReconcile
	// intentCleanUp: what is ours is removed, and the owner itself stays.
	intentCleanUp
	// intentUnknown: whether the policy wants the owner is not known. Nothing is done, and what is
	// known of the owner is not forgotten: it may have to be retired.
	intentUnknown
	// intentInspect: it is looked at whether something is ours, of an owner that is not wanted.
	intentInspect
)

// intentFor says what there is to do for an owner; nil: it is gone.
func (t ownerTurn) intentFor(ctx context.Context, name types.NamespacedName, owner *unstructured.Unstructured) intent {
	switch {
	case owner == nil:
		t.markWanted(name)
		return intentIgnore
	case t.program.CleanupOnly != nil && !t.retiring:
		if owner.GetDeletionTimestamp() != nil && t.isHeld(owner) {
			return intentReconcile
		}
		return intentIgnore
	case t.retiring:
		return t.retireIntent(owner)
	case owner.GetDeletionTimestamp() != nil && t.isHeld(owner):
		return intentReconcile
	}
	wanted, known := t.isWanted(ctx, owner)
	switch {
	case wanted:
		t.markWanted(name)
		return intentReconcile
	case !known:
		return intentUnknown
	case inventory.IsMarked(t.program.Label, owner):
		return intentCleanUp
	}
	return t.markUnwanted(name, owner)
}

// isWanted says whether the policy wants this owner, and whether that is known: nothing
// is concluded from a filter that failed. An owner without a field that the filter
// reads is not wanted.
func (t ownerTurn) isWanted(ctx context.Context, owner *unstructured.Unstructured) (wanted, known bool) {
	if !t.hasInScope(owner) {
		return false, true
	}
	name := types.NamespacedName{Namespace: owner.GetNamespace(), Name: owner.GetName()}
	began := t.controller.currentTime()
	refusal := selection.RefuseContent(ctx, t.program, owner)
	if t.program.Owner.Filter != nil {
		t.recordEvaluation(name, began)
	}
	if refusal == nil || refusal.Err == nil {
		return refusal == nil, true
	}
	if cel.IsBudget(refusal.Err) {
		t.recordExceeded(name, owner.GetResourceVersion())
	}
	ctrllog.FromContext(ctx).Info("the owner filter failed; the owner is left alone", "reason", refusal.Err.Error())
	return false, false
}

// hasInScope says whether the scope has the owner: it has namespaces, or, of owners
// that are Namespaces, the owners themselves.
func (t ownerTurn) hasInScope(owner *unstructured.Unstructured) bool {
	if t.scope.SelectsOwners() {
		return t.scope.SelectsNamespace(owner.GetName(), owner.GetLabels())
	}
	return t.inScope(owner.GetNamespace())
}

// markWanted notes that an owner is wanted, or gone.
func (t ownerTurn) markWanted(name types.NamespacedName) {
	t.mu.Lock()
	looking := t.owners.IsInspected(name)
	t.owners.MarkWanted(name)
	t.mu.Unlock()
	if looking {
		t.stopInspection(name)
	}
}

// markUnwanted notes that an owner is not wanted. What was worked on is retired. Of others
// it is looked at once whether there is something of ours from an earlier run; of one
// that is younger than this run, and any version of the policy in it, there is not.
func (t ownerTurn) markUnwanted(name types.NamespacedName, owner *unstructured.Unstructured) intent {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch t.owners.MarkUnwanted(name, owner.GetUID(), owner.GetCreationTimestamp().After(t.startedAt)) {
	case owners.CleaningUp:
		return intentCleanUp
	case owners.Clean:
		return intentIgnore
	default:
		return intentInspect
	}
}

// retireIntent is the purpose of an owner whose policy goes.
func (t ownerTurn) retireIntent(owner *unstructured.Unstructured) intent {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.owners.IsCleanedUp(owner.GetUID()) {
		return intentIgnore
	}
	return intentCleanUp
}
