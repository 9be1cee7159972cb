package controller

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
)

// isRefused says whether a stream was refused for want of a right, or of an identity.
func isRefused(event informer.Event) bool {
	return event.Type == informer.StateChanged && (event.State == informer.Forbidden || event.State == informer.Unauthenticated)
}

// checkEvent asks for a review when a stream was refused, unless the rights say
// already that it would be, and looks out for a resource that is not served.
func (op *policyController) checkEvent(event informer.Event) {
	if event.State == informer.Missing || event.Type == informer.Synced {
		op.controller.definitions.CheckSoon(event.State == informer.Missing)
	}
	if !isRefused(event) {
		return
	}
	key := event.Key
	if r, ok := op.permissions.CurrentAt(key.Namespace); ok && !r.MayWatch(key.GVR.GroupResource()) {
		return
	}
	op.permissions.ReportDenied(key.Namespace, access.Access{Verb: "watch", Group: key.GVR.Group, Resource: key.GVR.Resource})
}

// enqueueOwnersOf queues the owners of a namespace and those that make use of it, or
// all.
func (op *policyController) enqueueOwnersOf(namespace string) {
	op.mu.Lock()
	var names []types.NamespacedName
	note := func(name types.NamespacedName) {
		if namespace == allNamespaces || name.Namespace == namespace || op.permissions.UsesIndex().HasPlace(name, namespace) {
			names = append(names, name)
		}
	}
	for name := range op.owners.WorkingOwners() {
		note(name)
	}
	for name := range op.owners.BlindOwners() {
		note(name)
	}
	op.mu.Unlock()
	op.enqueueOwners(names)
}

func compareOwners(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// enqueueOwners queues owners, in the order of their names.
func (op *policyController) enqueueOwners(names []types.NamespacedName) {
	slices.SortFunc(names, compareOwners)
	for _, name := range names {
		op.enqueueOwner(name)
	}
}

// enqueueOwner queues an owner; without a name, the policy itself.
func (op *policyController) enqueueOwner(name types.NamespacedName) {
	op.controller.enqueueKey(Key{Policy: op.id, Namespace: name.Namespace, Name: name.Name})
}
