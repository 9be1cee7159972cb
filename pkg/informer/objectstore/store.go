// Package objectstore holds what an informer keeps of its objects.
//
// A Store follows what the API server shows (SetObject, RemoveObject, ReplaceAll,
// AdvanceTo) and takes in own writes before their events arrive (ObserveWrite,
// ObserveDeletion): it never goes back to a time before an own write. It says of each
// call what has changed, and finds the objects of a Subset by an index of labels or by
// name.
//
// Objects in a Store never change, they are replaced: whoever got one may keep it and must
// not change it. Nothing here blocks, calls out or takes a lock.
package objectstore

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Store is the objects of one informer. Create it with New. It is not safe for
// concurrent use: its informer's lock guards it.
type Store struct {
	everyVersion bool // see New; never changes

	synced  bool // the first list is in
	objects map[types.NamespacedName]*entry
	labels  labelIndex
	// progress is the resourceVersion that the informer has passed: nothing up to it
	// is still to come. "" if it is not known.
	progress  string
	ownWrites ownWrites
}

// entry is one object's place in the store.
type entry struct {
	object *unstructured.Unstructured
	// unconfirmed: the object comes from an own write, and the informer is not there yet.
	unconfirmed bool
}

// New makes a store without objects. With everyVersion a new resourceVersion alone is a
// change of an object.
func New(everyVersion bool) *Store { return &Store{everyVersion: everyVersion} }

// Change is one object that has come (Old is nil), changed, or gone (New is nil). Both are
// nil if nothing has changed.
type Change struct {
	Old, New *unstructured.Unstructured
}

// IsEmpty reports whether nothing has changed.
func (c Change) IsEmpty() bool { return c.Old == nil && c.New == nil }

// NameOf returns the namespace and name of an object.
func NameOf(object *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// isNewer reports whether resourceVersion a is known to come after b.
func isNewer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order > 0
}

// IsSynced reports whether a list is in since the beginning or DropAll.
func (s *Store) IsSynced() bool { return s.synced }

// ObjectCount returns the number of objects.
func (s *Store) ObjectCount() int { return len(s.objects) }

// ObjectOfVersion returns the object of that name if it has that resourceVersion, which is not empty; else nil.
func (s *Store) ObjectOfVersion(name types.NamespacedName, resourceVersion string) *unstructured.Unstructured {
	if found, ok := s.objects[name]; ok && resourceVersion != "" && found.object.GetResourceVersion() == resourceVersion {
		return found.object
	}
	return nil
}

// SetObject stores an object that the API server showed as added or changed.
func (s *Store) SetObject(object *unstructured.Unstructured) Change {
	if s.ownWrites.isOutdated(object) {
		return Change{}
	}
	found, ok := s.objects[NameOf(object)]
	if ok && found.unconfirmed && isNewer(found.object.GetResourceVersion(), object.GetResourceVersion()) {
		return Change{} // it is from before our write
	}
	return s.putObject(object, false)
}

// RemoveObject removes an object that the API server showed as deleted.
func (s *Store) RemoveObject(object *unstructured.Unstructured) Change {
	s.ownWrites.forgetDeletion(object)
	name := NameOf(object)
	found, ok := s.objects[name]
	if !ok || found.unconfirmed && isNewer(found.object.GetResourceVersion(), object.GetResourceVersion()) {
		return Change{}
	}
	return s.dropObject(name)
}

// ReplaceAll compares the store with a complete list as of a resourceVersion. The
// changes are nil for the first list.
func (s *Store) ReplaceAll(list []*unstructured.Unstructured, resourceVersion string) []Change {
	first := !s.synced
	if first {
		s.objects = make(map[types.NamespacedName]*entry, len(list))
	}
	var changes []Change
	listed := make(map[types.NamespacedName]struct{}, len(list))
	for _, object := range list {
		listed[NameOf(object)] = struct{}{}
		changes = s.appendChange(changes, s.SetObject(object))
	}
	for name, found := range s.objects {
		if _, ok := listed[name]; ok || found.unconfirmed && isNewer(found.object.GetResourceVersion(), resourceVersion) {
			continue
		}
		changes = s.appendChange(changes, s.dropObject(name))
	}
	s.ownWrites.forgetListed(listed, resourceVersion)
	s.progress = resourceVersion
	s.synced = true
	s.applyHeld()
	if first {
		return nil
	}
	return changes
}

func (s *Store) appendChange(changes []Change, c Change) []Change {
	if c.IsEmpty() || !s.synced {
		return changes
	}
	return append(changes, c)
}

// AdvanceTo records that the informer has come to a resourceVersion. An own write up to
// it whose event did not come is not for this informer, and is removed.
func (s *Store) AdvanceTo(resourceVersion string) []Change {
	s.progress = resourceVersion
	var changes []Change
	for name := range s.ownWrites.unconfirmed {
		found := s.objects[name]
		if !isNewer(found.object.GetResourceVersion(), resourceVersion) {
			changes = append(changes, s.dropObject(name))
		}
	}
	return changes
}

// DropAll forgets all objects, and keeps what is known of own writes.
func (s *Store) DropAll() {
	for name, belongs := range s.ownWrites.unconfirmed {
		s.ownWrites.holdUntilListed(s.objects[name].object, belongs)
	}
	s.synced = false
	s.objects = nil
	s.progress = ""
	s.labels.clear()
	s.ownWrites.unconfirmed = nil
}

// putObject stores an object, whatever was there before.
func (s *Store) putObject(object *unstructured.Unstructured, unconfirmed bool) Change {
	name := NameOf(object)
	s.ownWrites.setUnconfirmed(name, unconfirmed)
	found, ok := s.objects[name]
	if !ok {
		found = &entry{object: object, unconfirmed: unconfirmed}
		s.objects[name] = found
		s.labels.move(found, nil)
		return Change{New: object}
	}
	old := found.object
	found.object, found.unconfirmed = object, unconfirmed
	s.labels.move(found, old)
	if equalObjects(old, object) && !(s.everyVersion && old.GetResourceVersion() != object.GetResourceVersion()) {
		return Change{}
	}
	return Change{Old: old, New: object}
}

// dropObject removes an object that is there.
func (s *Store) dropObject(name types.NamespacedName) Change {
	found := s.objects[name]
	delete(s.objects, name)
	s.ownWrites.setUnconfirmed(name, false)
	s.labels.remove(found)
	return Change{Old: found.object}
}
