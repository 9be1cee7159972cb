package informer

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// store holds what a stream keeps of its objects, and an index for each label
// that a subscriber asked for. It is guarded by its stream's mu; nothing here
// blocks or calls out. Objects in it never change: they are replaced.
type store struct {
	versions bool // Form.Versions; never changes

	synced  bool // the first list is in
	objects map[types.NamespacedName]*entry
	index   map[string]map[string]map[*entry]struct{} // by label, by value
	// progress is the resourceVersion that the stream has passed: nothing up to it
	// is still to come. "" if it is not known.
	progress string
	written  written
}

// entry is one object's place in the store.
type entry struct {
	object *unstructured.Unstructured
	// ahead: the object comes from an own write, and the stream is not there yet.
	ahead bool
}

// change is one thing that happened in the store. An empty kind is none.
type change struct {
	kind        EventType
	object, old *unstructured.Unstructured
}

func nameOf(object *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// newer says whether resourceVersion a is known to come after b.
func newer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order > 0
}

// set takes an object in that the API server showed, as added or changed.
func (s *store) set(object *unstructured.Unstructured) change {
	if s.written.outdates(object) {
		return change{}
	}
	found, ok := s.objects[nameOf(object)]
	if ok && found.ahead && newer(found.object.GetResourceVersion(), object.GetResourceVersion()) {
		return change{} // it is from before our write
	}
	return s.put(object, false)
}

// remove takes out an object that the API server showed as deleted.
func (s *store) remove(object *unstructured.Unstructured) change {
	s.written.gone(object)
	name := nameOf(object)
	found, ok := s.objects[name]
	if !ok || found.ahead && newer(found.object.GetResourceVersion(), object.GetResourceVersion()) {
		return change{}
	}
	return s.drop(name)
}

// replace compares the store with a complete list as of a resourceVersion. The
// changes are nil for the first list of an epoch.
func (s *store) replace(list []*unstructured.Unstructured, resourceVersion string) []change {
	first := !s.synced
	if first {
		s.objects = make(map[types.NamespacedName]*entry, len(list))
	}
	var changes []change
	listed := make(map[types.NamespacedName]struct{}, len(list))
	for _, object := range list {
		listed[nameOf(object)] = struct{}{}
		changes = s.note(changes, s.set(object))
	}
	for name, found := range s.objects {
		if _, ok := listed[name]; ok || found.ahead && newer(found.object.GetResourceVersion(), resourceVersion) {
			continue
		}
		changes = s.note(changes, s.drop(name))
	}
	s.written.listed(listed, resourceVersion)
	s.progress = resourceVersion
	s.synced = true
	s.takeHeld()
	if first {
		return nil
	}
	return changes
}

func (s *store) note(changes []change, c change) []change {
	if c.kind == "" || !s.synced {
		return changes
	}
	return append(changes, c)
}

// pass notes that the stream has come to a resourceVersion. An own write up to
// it whose event did not come is not for this stream: it goes again.
func (s *store) pass(resourceVersion string) []change {
	s.progress = resourceVersion
	var changes []change
	for name := range s.written.ahead {
		found := s.objects[name]
		if !newer(found.object.GetResourceVersion(), resourceVersion) {
			changes = append(changes, s.drop(name))
		}
	}
	return changes
}

// reset forgets all objects, and keeps what is known of own writes.
func (s *store) reset() {
	for name, belongs := range s.written.ahead {
		s.written.hold(s.objects[name].object, belongs)
	}
	s.synced = false
	s.objects = nil
	s.progress = ""
	for label := range s.index {
		s.index[label] = map[string]map[*entry]struct{}{}
	}
	s.written.ahead = nil
}

// put stores an object, whatever was there.
func (s *store) put(object *unstructured.Unstructured, ahead bool) change {
	name := nameOf(object)
	s.written.mark(name, ahead)
	found, ok := s.objects[name]
	if !ok {
		found = &entry{object: object, ahead: ahead}
		s.objects[name] = found
		s.reindex(found, nil)
		return change{kind: Added, object: object}
	}
	old := found.object
	found.object, found.ahead = object, ahead
	s.reindex(found, old)
	if equal(old, object) && !(s.versions && old.GetResourceVersion() != object.GetResourceVersion()) {
		return change{}
	}
	return change{kind: Updated, object: object, old: old}
}

// drop takes an object out that is there.
func (s *store) drop(name types.NamespacedName) change {
	found := s.objects[name]
	delete(s.objects, name)
	s.written.mark(name, false)
	for label := range s.index {
		s.unindex(found, label, found.object)
	}
	return change{kind: Deleted, object: found.object}
}
