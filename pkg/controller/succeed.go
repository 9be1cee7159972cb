package controller

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// succeed takes over from an older version what spares this one requests, and what it
// has to know to clean up. Nobody has worked with this one yet.
//
// Owners that exceeded limits have a fresh start, but throttled, so that an edit is no way
// out.
func (op *operator) succeed(before *operator) {
	if op.program.Owner.GVK.GroupKind() != before.program.Owner.GVK.GroupKind() {
		return
	}
	op.former = formerKinds(before, op.program)
	kinds := slices.Equal(childKinds(op.program), childKinds(before.program))
	wide := before.narrowedFrom()
	op.inheritAll(before)
	before.mu.Lock()
	defer before.mu.Unlock()
	op.costs = before.costs.Successor()
	if op.retiring && before.retiring {
		op.owners.TakeCleanedUp(before.owners)
	}
	if op.identity != before.identity {
		return
	}
	if kinds {
		op.owners.TakeFindings(before.owners)
	}
	op.spaces.Store(before.spaces.Load())
	maps.Copy(op.served, before.served)
	op.bequests = maps.Clone(before.bequests)
	if op.bequests == nil {
		op.bequests = make(map[string]bequest, len(before.asked))
	}
	for namespace, a := range before.asked {
		op.bequests[namespace] = bequest{answer: a.answer(), told: a.told, logged: a.logged}
	}
	if everywhere, ok := op.bequests[allNamespaces]; ok && wide != nil {
		everywhere.asked = wide
		op.bequests[allNamespaces] = everywhere
	}
}

// formerKinds are those that a version, or older ones whose owners it may not have looked at
// yet, made beside owners, and that the program does not.
func formerKinds(before *operator, program *policy.Program) []schema.GroupVersionKind {
	list := plan.FormerKinds(before.program, program)
	for _, gvk := range before.former {
		if !slices.Contains(list, gvk) && !plan.MakesBeside(program, gvk) {
			list = append(list, gvk)
		}
	}
	return list
}

// inheritAll takes over which owners were worked on.
func (op *operator) inheritAll(before *operator) {
	if !op.inherits(before) {
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

// legacy is an owner that a version worked on.
type legacy struct {
	name types.NamespacedName
	uid  types.UID // empty: there is none
}

// legacy returns the owner of that name, if it was worked on.
func (op *operator) legacy(name types.NamespacedName) legacy {
	op.mu.Lock()
	defer op.mu.Unlock()
	_, uid := op.owners.WorkOf(name)
	return legacy{name, uid}
}

// inherit takes over an owner that a worker has done with in an older version, after it
// was replaced. Until the worker returns nobody else has the owner's key.
func (op *operator) inherit(before *operator, worked legacy) {
	if !op.inherits(before) {
		return
	}
	op.mu.Lock()
	defer op.mu.Unlock()
	op.owners.InheritOwner(worked.name, worked.uid)
}

// inherits says whether owners of an older version may have to be cleaned up after by
// this one. A policy that does not compile retires none.
func (op *operator) inherits(before *operator) bool {
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
