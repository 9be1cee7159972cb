package informer

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/informer/objectstore"
)

// Lister answers for one Interest from the store of its informer. Listers are comparable
// and safe for concurrent use; a lister of an informer that has ended says so and is
// empty. The zero Lister is one. Objects are shared with everybody: they must not
// be changed.
type Lister struct {
	informer *sharedInformer
	subset   objectstore.Subset
}

// Status says how the informer is.
func (v Lister) Status() Status {
	if v.informer == nil {
		return Status{State: Stopped}
	}
	v.informer.mu.RLock()
	defer v.informer.mu.RUnlock()
	return v.informer.status
}

// State is Status().State.
func (v Lister) State() State { return v.Status().State }

// Synced is Status().Synced: List is complete, as of some moment.
func (v Lister) Synced() bool { return v.Status().Synced }

// List returns the objects of the need, in no order. The slice belongs to the
// caller.
func (v Lister) List() []*unstructured.Unstructured {
	objects, _ := v.Read()
	return objects
}

// Read is List and Status at one moment: with Status.Synced the list is
// complete, even if the informer is refused right after.
func (v Lister) Read() ([]*unstructured.Unstructured, Status) {
	if v.informer == nil {
		return nil, Status{State: Stopped}
	}
	v.informer.mu.RLock()
	defer v.informer.mu.RUnlock()
	return v.informer.store.ListSubset(v.subset), v.informer.status
}

// Get returns one object of the need, or nil.
func (v Lister) Get(namespace, name string) *unstructured.Unstructured {
	if v.informer == nil {
		return nil
	}
	v.informer.mu.RLock()
	defer v.informer.mu.RUnlock()
	return v.informer.store.GetObject(v.subset, types.NamespacedName{Namespace: namespace, Name: name})
}

// isFor reports whether the lister is the one for a need.
func (v Lister) isFor(need Interest) bool {
	return v.informer.key == need.Key && v.subset == need.objectSubset()
}
