// Package objectstore holds what an informer keeps of its objects.
//
// A Store follows what the API server shows (SetObject, RemoveObject, ReplaceAll,
// AdvanceTo) and takes in own writes before their events arrive (ObserveWrite,
// ObserveDeletion): it never goes back to a time before an own write. It says of each
// call what has changed, and finds the objects of a Subset by an index of labels or by
// name.
//
// Objects in a Store never change, they are replaced: whoever got one may keep it and must
// not change it. They are kept packed, and made anew for who reads them; as long as somebody
// has one, all others get the same. Nothing here blocks or calls out, but to the Form.
package objectstore

import (
	"iter"
	"sync"
	"weak"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/ambit-dev/ambit/pkg/internal/packed"
)

// Form packs the objects of a Store, and unpacks them. It is safe for concurrent use, and must not
// call the Store.
type Form interface {
	Pack(*unstructured.Unstructured) packed.Map
	Unpack(packed.Map) *unstructured.Unstructured
}

// Store is the objects of one informer. Create it with New. It is not safe for
// concurrent use: its informer's lock guards it. Methods that change nothing may be called at once.
type Store struct {
	everyVersion bool // see New; never changes
	form         Form

	synced  bool // the first list is in
	objects map[types.NamespacedName]*entry
	bytes   int // that the objects take, packed
	labels  labelIndex
	// progress is the resourceVersion that the informer has passed: nothing up to it
	// is still to come. "" if it is not known.
	progress  string
	ownWrites ownWrites

	recentMu sync.Mutex // guards recent of all entries, which reading changes
}

// entry is one object's place in the store.
type entry struct {
	packed          packed.Map
	resourceVersion string
	// unconfirmed: the object comes from an own write, and the informer is not there yet.
	unconfirmed bool
	// recent is the object, as long as somebody has it.
	recent weak.Pointer[unstructured.Unstructured]
}

// New makes a store without objects. With everyVersion a new resourceVersion alone is a
// change of an object.
func New(everyVersion bool, form Form) *Store { return &Store{everyVersion: everyVersion, form: form} }

// objectOf returns the object of an entry.
func (s *Store) objectOf(found *entry) *unstructured.Unstructured {
	s.recentMu.Lock()
	defer s.recentMu.Unlock()
	object := found.recent.Value()
	if object == nil {
		object = s.form.Unpack(found.packed)
		found.recent = weak.Make(object)
	}
	return object
}

// setObjectOf makes an object that of an entry.
func (s *Store) setObjectOf(found *entry, object *unstructured.Unstructured) {
	s.bytes -= found.packed.SizeBytes()
	found.packed, found.resourceVersion = s.form.Pack(object), object.GetResourceVersion()
	s.bytes += found.packed.SizeBytes()
	found.recent = weak.Make(object)
}

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
	if found, ok := s.objects[name]; ok && resourceVersion != "" && found.resourceVersion == resourceVersion {
		return s.objectOf(found)
	}
	return nil
}

// SetObject stores an object that the API server showed as added or changed.
func (s *Store) SetObject(object *unstructured.Unstructured) Change {
	if s.ownWrites.isOutdated(object) {
		return Change{}
	}
	found, ok := s.objects[NameOf(object)]
	if ok && found.unconfirmed && isNewer(found.resourceVersion, object.GetResourceVersion()) {
		return Change{} // it is from before our write
	}
	return s.putObject(object, false)
}

// RemoveObject removes an object that the API server showed as deleted.
func (s *Store) RemoveObject(object *unstructured.Unstructured) Change {
	s.ownWrites.forgetDeletion(object)
	name := NameOf(object)
	found, ok := s.objects[name]
	if !ok || found.unconfirmed && isNewer(found.resourceVersion, object.GetResourceVersion()) {
		return Change{}
	}
	return s.dropObject(name)
}

// ReplaceAll compares the store with a complete list as of a resourceVersion. The
// changes are nil for the first list. A nil list is an empty one.
func (s *Store) ReplaceAll(list iter.Seq[*unstructured.Unstructured], resourceVersion string) []Change {
	first := !s.synced
	if first {
		s.objects = map[types.NamespacedName]*entry{}
	}
	var changes []Change
	listed := map[types.NamespacedName]struct{}{}
	if list == nil {
		list = func(func(*unstructured.Unstructured) bool) {}
	}
	for object := range list {
		listed[NameOf(object)] = struct{}{}
		changes = s.appendChange(changes, s.SetObject(object))
	}
	for name, found := range s.objects {
		if _, ok := listed[name]; ok || found.unconfirmed && isNewer(found.resourceVersion, resourceVersion) {
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
		if !isNewer(found.resourceVersion, resourceVersion) {
			changes = append(changes, s.dropObject(name))
		}
	}
	return changes
}

// DropAll forgets all objects, and keeps what is known of own writes.
func (s *Store) DropAll() {
	for name, belongs := range s.ownWrites.unconfirmed {
		s.ownWrites.holdUntilListed(s.objectOf(s.objects[name]), belongs)
	}
	s.synced = false
	s.objects = nil
	s.bytes = 0
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
		found = &entry{unconfirmed: unconfirmed}
		s.setObjectOf(found, object)
		s.objects[name] = found
		s.labels.move(found, nil, object)
		return Change{New: object}
	}
	old, oldVersion := s.objectOf(found), found.resourceVersion
	found.unconfirmed = unconfirmed
	if old == object {
		return Change{}
	}
	s.setObjectOf(found, object)
	s.labels.move(found, old, object)
	if equalObjects(old, object) && !(s.everyVersion && oldVersion != found.resourceVersion) {
		return Change{}
	}
	return Change{Old: old, New: object}
}

// dropObject removes an object that is there.
func (s *Store) dropObject(name types.NamespacedName) Change {
	found := s.objects[name]
	object := s.objectOf(found)
	delete(s.objects, name)
	s.bytes -= found.packed.SizeBytes()
	s.ownWrites.setUnconfirmed(name, false)
	s.labels.remove(found, object)
	return Change{Old: object}
}

// sizeEntry is what an object takes beside its content: its entry, and that in the map of objects, with
// its name.
const sizeEntry = 256

// EstimateBytes estimates how many bytes the objects take, without what they share with others.
func (s *Store) EstimateBytes() int { return s.bytes + sizeEntry*len(s.objects) }
