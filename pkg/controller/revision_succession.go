package controller

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// succeedRevision takes over from an older version what spares this one requests, and what it
// has to know to clean up. Nobody has worked with this one yet.
//
// Owners that exceeded limits have a fresh start, but throttled, so that an edit is no way
// out.
func (op *policyController) succeedRevision(before *policyController) {
	if op.program.Owner.GVK.GroupKind() != before.program.Owner.GVK.GroupKind() {
		return
	}
	op.reconciles.LostWrites = before.reconciles.LostWrites
	op.formerKinds = formerKinds(before, op.program)
	kinds := slices.Equal(childKinds(op.program), childKinds(before.program))
	op.inheritOwners(before)
	if op.identity == before.identity {
		op.permissions.InheritFrom(before.permissions)
	}
	before.mu.Lock()
	defer before.mu.Unlock()
	op.costs = before.costs.ForNextRevision()
	if op.retiring && before.retiring {
		op.owners.TakeCleanedUp(before.owners)
	}
	if op.identity != before.identity {
		return
	}
	if kinds {
		op.owners.TakeFindings(before.owners)
	}
	op.namespaceList.InheritList(before.namespaceList)
	op.ownerViews.InheritServed(before.ownerViews)
}

// formerKinds are those that a version, or older ones whose owners it may not have looked at
// yet, made beside owners, and that the program does not.
func formerKinds(before *policyController, program *policy.Program) []schema.GroupVersionKind {
	list := plan.FormerKinds(before.program, program)
	for _, gvk := range before.formerKinds {
		if !slices.Contains(list, gvk) && !plan.MakesBeside(program, gvk) {
			list = append(list, gvk)
		}
	}
	return list
}

// inheritOwners takes over which owners were worked on.
func (op *policyController) inheritOwners(before *policyController) {
	if !mayInherit(op, before) {
		return
	}
	before.mu.Lock()
	heritage := before.owners.WorkedOwners()
	before.mu.Unlock()
	op.mu.Lock()
	defer op.mu.Unlock()
	for name, uid := range heritage {
		op.owners.InheritOwner(name, uid)
	}
}

// workedOwner is an owner that a version worked on.
type workedOwner struct {
	name types.NamespacedName
	uid  types.UID // empty: there is none
}

// workedOwnerOf returns the owner of that name, if it was worked on.
func (op *policyController) workedOwnerOf(name types.NamespacedName) workedOwner {
	op.mu.Lock()
	defer op.mu.Unlock()
	_, uid := op.owners.WorkOf(name)
	return workedOwner{name, uid}
}

// inheritOwner takes over an owner that a worker has done with in an older version, after it
// was replaced. Until the worker returns nobody else has the owner's key.
func (op *policyController) inheritOwner(before *policyController, worked workedOwner) {
	if !mayInherit(op, before) {
		return
	}
	op.mu.Lock()
	defer op.mu.Unlock()
	op.owners.InheritOwner(worked.name, worked.uid)
}

// mayInherit says whether owners of an older version may have to be cleaned up after by
// this one. A policy that does not compile retires none.
func mayInherit(op, before *policyController) bool {
	return op.program.CleanupOnly == nil && op.program.Owner.GVK.GroupKind() == before.program.Owner.GVK.GroupKind()
}

// childKinds are the kinds of the policy's children, sorted.
func childKinds(program *policy.Program) []string {
	var kinds []string
	for _, child := range program.Children {
		kinds = append(kinds, child.GVK.String())
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
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
		op.controller.enqueueKey(Key{Policy: op.id})
	}
}
