package controller

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/pkg/controller/owners"
	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// purpose is what a pass over an owner is for.
type purpose int

const (
	// leaveAlone: there is nothing to do for the owner.
	leaveAlone purpose = iota
	// serve: the owner is to be as the policy describes it, or cleaned up after if it
	// is being deleted.
	serve
	// retire: what is ours is removed, and the owner itself stays.
	retire
	// unknown: whether the policy wants the owner is not known. Nothing is done, and what is
	// known of the owner is not forgotten: it may have to be retired.
	unknown
	// inspect: it is looked at whether something is ours, of an owner that is not wanted.
	inspect
)

// purpose says what there is to do for an owner; nil: it is gone.
func (op *operator) purpose(ctx context.Context, name types.NamespacedName, owner *unstructured.Unstructured) purpose {
	switch {
	case owner == nil:
		op.match(name)
		return leaveAlone
	case op.program.CleanupOnly != nil && !op.retiring:
		if owner.GetDeletionTimestamp() != nil && op.isHeld(owner) {
			return serve
		}
		return leaveAlone
	case op.retiring:
		return op.retirement(owner)
	case owner.GetDeletionTimestamp() != nil && op.isHeld(owner):
		return serve
	}
	wanted, known := op.serves(ctx, owner)
	switch {
	case wanted:
		op.match(name)
		return serve
	case !known:
		return unknown
	case inventory.IsMarked(op.program.Name, owner):
		return retire
	}
	return op.unmatch(name, owner)
}

// serves says whether the policy wants this owner, and whether that is known: nothing
// is concluded from a filter that failed. An owner without a field that the filter
// reads is not wanted.
func (op *operator) serves(ctx context.Context, owner *unstructured.Unstructured) (wanted, known bool) {
	if !op.hasInScope(owner) || !op.selects(owner) {
		return false, true
	}
	filter := op.program.Owner.Filter
	if filter == nil {
		return true, true
	}
	name := types.NamespacedName{Namespace: owner.GetNamespace(), Name: owner.GetName()}
	began := op.engine.now()
	ctx = sandbox.WithBudget(ctx, sandbox.NewBudget(0, 0))
	wanted, err := filter.EvalBool(ctx, cel.Activation{"object": op.program.Owner.See(owner.Object)})
	op.recordEvaluation(name, began)
	if cel.IsBudget(err) {
		op.recordExceeded(name, owner.GetResourceVersion())
	}
	if err != nil && !cel.IsNoSuchKey(err) {
		ctrllog.FromContext(ctx).Info("the owner filter failed; the owner is left alone", "reason", err.Error())
		return false, false
	}
	return wanted && err == nil, true
}

// hasInScope says whether the scope has the owner: it has namespaces, or, of owners
// that are Namespaces, the owners themselves.
func (op *operator) hasInScope(owner *unstructured.Unstructured) bool {
	if op.namespaceOwners() {
		return op.isSelected(owner.GetName(), owner.GetLabels())
	}
	return op.inScope(owner.GetNamespace())
}

// selects says whether the labels of an owner are as the policy selects them.
func (op *operator) selects(owner *unstructured.Unstructured) bool {
	o := op.program.Owner
	return o.Selector == nil || o.Selector.Empty() || o.Selector.Matches(labels.Set(owner.GetLabels()))
}

// match notes that an owner is wanted, or gone.
func (op *operator) match(name types.NamespacedName) {
	op.mu.Lock()
	looking := op.owners.IsInspected(name)
	op.owners.MarkWanted(name)
	op.mu.Unlock()
	if looking {
		op.stopLookingFor(name)
	}
}

// unmatch notes that an owner is not wanted. What was worked on is retired. Of others
// it is looked at once whether there is something of ours from an earlier run; of one
// that is younger than this run, and any version of the policy in it, there is not.
func (op *operator) unmatch(name types.NamespacedName, owner *unstructured.Unstructured) purpose {
	op.mu.Lock()
	defer op.mu.Unlock()
	switch op.owners.MarkUnwanted(name, owner.GetUID(), owner.GetCreationTimestamp().After(op.began)) {
	case owners.CleaningUp:
		return retire
	case owners.Clean:
		return leaveAlone
	default:
		return inspect
	}
}
