package controller

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
)

// inheritedPermissions is what an older version of a policy knew of a place.
type inheritedPermissions struct {
	answer *permissionset.Set
	told   *permissionset.Set // what was acted upon last
	logged string             // what was logged to be missing
	// asked is what was asked about all namespaces at first, of which it has turned out
	// that not everything is permitted; nil otherwise.
	asked []access.Access
}

// inheritedClusterAccess is what was asked about all namespaces at first, if that has turned out
// not to be permitted; else nil.
func (op *policyController) inheritedClusterAccess() []access.Access {
	op.mu.Lock()
	a, asked := op.permissionRequests[allNamespaces]
	whole := asked && a.extent == everything
	before := op.inheritedPermissions[allNamespaces].asked
	op.mu.Unlock()
	switch {
	case !asked:
		return before
	case whole:
		return nil
	}
	return op.allClusterAccess()
}

// allClusterAccess is what is asked about all namespaces at first.
func (op *policyController) allClusterAccess() []access.Access {
	needs, _ := op.resourceNeeds()
	list, _ := op.requiredAccess(needs, allNamespaces, everything, nil)
	return list
}

// isKnownNarrow says whether an older version has found that not everything is permitted
// in all namespaces, of the same that this one would ask.
func (op *policyController) isKnownNarrow() bool {
	op.mu.Lock()
	before := op.inheritedPermissions[allNamespaces].asked
	op.mu.Unlock()
	return before != nil && slices.Equal(before, op.allClusterAccess())
}

// wasDenied says whether an older version found that a resource may not be watched in all
// namespaces together, as long as this one has not asked for that.
func (op *policyController) wasDenied(resource schema.GroupResource) bool {
	op.mu.Lock()
	defer op.mu.Unlock()
	before, mine := op.inheritedPermissions[allNamespaces].answer, op.permissionRequests[allNamespaces]
	if before == nil || before.MayWatch(resource) {
		return false
	}
	return mine == nil || !slices.Contains(mine.accesses, readAccess(resource)[0])
}
