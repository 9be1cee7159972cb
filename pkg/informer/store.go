package informer

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// store holds what an informer keeps of its objects, and an index for each label
// that a handler asked for. It is guarded by its informer's mu; nothing here
// blocks or calls out. Objects in it never change: they are replaced.
type store struct {
	versions bool // Form.Versions; never changes

	synced  bool // the first list is in
	objects map[types.NamespacedName]*storeEntry
	index   map[string]map[string]map[*storeEntry]struct{} // by label, by value
	// progress is the resourceVersion that the informer has passed: nothing up to it
	// is still to come. "" if it is not known.
	progress  string
	ownWrites ownWrites
}

// storeEntry is one object's place in the store.
type storeEntry struct {
	object *unstructured.Unstructured
	// unconfirmed: the object comes from an own write, and the informer is not there yet.
	unconfirmed bool
}

// storeChange is one thing that happened in the store. An empty kind is none.
type storeChange struct {
	kind        EventType
	object, old *unstructured.Unstructured
}

func nameOf(object *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// isNewer reports whether resourceVersion a is known to come after b.
func isNewer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order > 0
}

// setObject stores an object that the API server showed as added or changed.
func (s *store) setObject(object *unstructured.Unstructured) storeChange {
	if s.ownWrites.isOutdated(object) {
		return storeChange{}
	}
	found, ok := s.objects[nameOf(object)]
	if ok && found.unconfirmed && isNewer(found.object.GetResourceVersion(), object.GetResourceVersion()) {
		return storeChange{} // it is from before our write
	}
	return s.putObject(object, false)
}

// removeObject removes an object that the API server showed as deleted.
func (s *store) removeObject(object *unstructured.Unstructured) storeChange {
	s.ownWrites.forgetDeletion(object)
	name := nameOf(object)
	found, ok := s.objects[name]
	if !ok || found.unconfirmed && isNewer(found.object.GetResourceVersion(), object.GetResourceVersion()) {
		return storeChange{}
	}
	return s.dropObject(name)
}

// replaceAll compares the store with a complete list as of a resourceVersion. The
// changes are nil for the first list of an epoch.
func (s *store) replaceAll(list []*unstructured.Unstructured, resourceVersion string) []storeChange {
	first := !s.synced
	if first {
		s.objects = make(map[types.NamespacedName]*storeEntry, len(list))
	}
	var changes []storeChange
	listed := make(map[types.NamespacedName]struct{}, len(list))
	for _, object := range list {
		listed[nameOf(object)] = struct{}{}
		changes = s.appendChange(changes, s.setObject(object))
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

func (s *store) appendChange(changes []storeChange, c storeChange) []storeChange {
	if c.kind == "" || !s.synced {
		return changes
	}
	return append(changes, c)
}

// advanceTo records that the informer has come to a resourceVersion. An own write up to
// it whose event did not come is not for this informer, and is removed.
func (s *store) advanceTo(resourceVersion string) []storeChange {
	s.progress = resourceVersion
	var changes []storeChange
	for name := range s.ownWrites.unconfirmed {
		found := s.objects[name]
		if !isNewer(found.object.GetResourceVersion(), resourceVersion) {
			changes = append(changes, s.dropObject(name))
		}
	}
	return changes
}

// reset forgets all objects, and keeps what is known of own writes.
func (s *store) reset() {
	for name, belongs := range s.ownWrites.unconfirmed {
		s.ownWrites.holdUntilListed(s.objects[name].object, belongs)
	}
	s.synced = false
	s.objects = nil
	s.progress = ""
	for label := range s.index {
		s.index[label] = map[string]map[*storeEntry]struct{}{}
	}
	s.ownWrites.unconfirmed = nil
}

// putObject stores an object, whatever was there before.
func (s *store) putObject(object *unstructured.Unstructured, ahead bool) storeChange {
	name := nameOf(object)
	s.ownWrites.setUnconfirmed(name, ahead)
	found, ok := s.objects[name]
	if !ok {
		found = &storeEntry{object: object, unconfirmed: ahead}
		s.objects[name] = found
		s.reindex(found, nil)
		return storeChange{kind: Added, object: object}
	}
	old := found.object
	found.object, found.unconfirmed = object, ahead
	s.reindex(found, old)
	if equalObjects(old, object) && !(s.versions && old.GetResourceVersion() != object.GetResourceVersion()) {
		return storeChange{}
	}
	return storeChange{kind: Updated, object: object, old: old}
}

// dropObject removes an object that is there.
func (s *store) dropObject(name types.NamespacedName) storeChange {
	found := s.objects[name]
	delete(s.objects, name)
	s.ownWrites.setUnconfirmed(name, false)
	for label := range s.index {
		s.unindex(found, label, found.object)
	}
	return storeChange{kind: Deleted, object: found.object}
}

// sampled is how many objects an estimate looks at.
const sampled = 4

// estimateBytes estimates how many bytes the objects of a store take, from a few of them. What
// objects share is counted for each, so that it is rather too much.
func (s *store) estimateBytes() int {
	looked, total := 0, 0
	for _, e := range s.objects { // in any order: the estimate is not better for one
		if looked == sampled {
			break
		}
		looked++
		total += sizeOf(e.object.Object)
	}
	if looked == 0 {
		return 0
	}
	return total / looked * len(s.objects)
}

// What values take beside their content: a word with its type in an interface, a string's
// header, a slice's, a map's, and an entry of a map with its share of free room.
const (
	sizeValue  = 16
	sizeString = 16
	sizeSlice  = 24
	sizeMap    = 48
	sizeEntry  = 40
)

// sizeOf estimates the bytes of a JSON-like value.
func sizeOf(value any) int {
	switch v := value.(type) {
	case string:
		return sizeValue + sizeString + len(v)
	case []any:
		total := sizeValue + sizeSlice
		for _, element := range v {
			total += sizeOf(element)
		}
		return total
	case map[string]any:
		total := sizeValue + sizeMap
		for key, element := range v {
			total += sizeEntry + len(key) + sizeOf(element)
		}
		return total
	}
	return sizeValue + 8
}
