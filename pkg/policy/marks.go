package policy

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// NeedsFinalizer says whether the policy may have to write on the metadata of its owners:
// the finalizer, and the record of children that no ownerReference ties to them.
// What only a cluster knows is not counted: see MarksFor. Owners that stop matching
// must then still be seen, so that they can be cleaned up.
func (p *Program) NeedsFinalizer() bool { return p.NeedsFinalizerFor(nil) }

// NeedsFinalizerFor is NeedsFinalizer where it is known which kinds have namespaces: a cluster-scoped
// child of a namespaced owner is recorded as well. Of an owner without a namespace
// it is recorded in which namespaces its children are. namespaced may be nil.
func (p *Program) NeedsFinalizerFor(namespaced func(schema.GroupVersionKind) bool) bool {
	if p.Protect != nil || p.Deletion == v1alpha1.DeletionOrdered || p.CleanupOnly != nil {
		return true
	}
	ownerIn := namespaced == nil || namespaced(p.Owner.GVK)
	for _, child := range p.Children {
		if child.OnDelete == v1alpha1.DeleteOrphan || child.Existing == v1alpha1.ExistingMerge {
			return true
		}
		if child.CrossNamespace || ownerIn && namespaced != nil && !namespaced(child.GVK) {
			return true
		}
	}
	return false
}
