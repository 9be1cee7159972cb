package controller

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/permitted"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// enqueuePolicy queues the policy itself, for an event of what it waits for.
func (op *policyController) enqueuePolicy(permitted.Event) { op.controller.enqueue(Key{Policy: op.id}) }

// followNamespaces keeps the list of namespaces for owners that look for objects in
// all of them, one by one; or gives it back if nobody has asked for it on this turn.
func (op *policyController) followNamespaces() {
	wanted := op.inputs.SearchesNamespaces() || op.revision.IsSucceeding() && op.namespaceList.FollowedList() != nil // as the version before
	if op.namespaceList.FollowList(wanted, op.inScope) {
		op.lookAnew.Store(true)
	}
}

// busyNamespaces are the namespaces in which there are owners that were worked on, by this version of
// the policy or an older one.
func (op *policyController) busyNamespaces() []string {
	op.mu.Lock()
	defer op.mu.Unlock()
	return slices.Collect(op.owners.BusyNamespaces())
}

// inScope says whether owners in a namespace are wanted.
func (op *policyController) inScope(namespace string) bool {
	return op.isClusterScoped.Load() || op.scope.HasNamespace(namespace)
}

// wantsSeen says whether an owner that a stream shows is one for this policy: it is in the scope, or
// is to be cleaned up after.
func (op *policyController) wantsSeen(owner *unstructured.Unstructured) bool {
	return op.inScope(owner.GetNamespace()) || inventory.IsMarked(op.program.Name, owner)
}
