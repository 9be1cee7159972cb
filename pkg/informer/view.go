package informer

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Lister answers for one Need from the store of its stream. Views are comparable
// and safe for concurrent use; a view of a stream that has ended says so and is
// empty. The zero View is one. Objects are shared with everybody: they must not
// be changed.
type Lister struct {
	stream *stream
	part   part
}

// Status says how the stream is.
func (v Lister) Status() Status {
	if v.stream == nil {
		return Status{State: Stopped}
	}
	v.stream.mu.RLock()
	defer v.stream.mu.RUnlock()
	return v.stream.status
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
// complete, even if the stream is refused right after.
func (v Lister) Read() ([]*unstructured.Unstructured, Status) {
	if v.stream == nil {
		return nil, Status{State: Stopped}
	}
	v.stream.mu.RLock()
	defer v.stream.mu.RUnlock()
	return v.stream.store.list(v.part, v.stream.key.Namespace), v.stream.status
}

// Get returns one object of the need, or nil.
func (v Lister) Get(namespace, name string) *unstructured.Unstructured {
	if v.stream == nil {
		return nil
	}
	v.stream.mu.RLock()
	defer v.stream.mu.RUnlock()
	key := types.NamespacedName{Namespace: namespace, Name: name}
	found, ok := v.stream.store.objects[key]
	if !ok || v.part.label != "" && !carries(found.object, v.part.label, v.part.value) ||
		v.part.byName() && !v.part.names.has(key, v.stream.key.Namespace) {
		return nil
	}
	return found.object
}

// answers says whether the view is the one for a need.
func (v Lister) answers(need Interest) bool {
	return v.stream.key == need.Key && v.part == partOf(need)
}
