package informer

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// written is what a store knows of own writes that its stream has not shown yet.
// All of it is small and empties itself as the stream goes on.
type written struct {
	// ahead are the names of entries with entry.ahead, and whether they belong.
	ahead map[types.NamespacedName]selection
	// held are objects that wait for the first list.
	held map[types.NamespacedName]waiting
	// deleted are the objects whose deletion was accepted: what an event or a list
	// shows of such a uid, without a deletionTimestamp, is from before that.
	deleted map[types.NamespacedName]deletion
}

// waiting is an object that waits for a list.
type waiting struct {
	object  *unstructured.Unstructured
	belongs selection
}

// deletion is what is known of a deleted object. Its uid never comes back.
type deletion struct {
	uid             types.UID
	resourceVersion string // before the deletion
}

// selection says whether an object belongs to a stream.
type selection int

const (
	unknown selection = iota // depends on a field that only the API server reads
	selected
	notSelected
)

// observe takes in an object that was just written.
func (s *store) observe(object *unstructured.Unstructured, belongs selection) change {
	if belongs != notSelected && s.written.outdates(object) {
		return change{}
	}
	if !s.synced {
		s.written.hold(object, belongs)
		return change{}
	}
	name, rv := nameOf(object), object.GetResourceVersion()
	found, ok := s.objects[name]
	switch {
	case !newer(rv, s.progress), ok && !newer(rv, found.object.GetResourceVersion()):
		return change{} // the stream knows better
	case belongs == notSelected && ok:
		return s.drop(name)
	case belongs == notSelected, belongs == unknown && !ok:
		return change{}
	}
	c := s.put(object, true)
	s.written.ahead[name] = belongs
	return c
}

// takeHeld uses what was written before the first list, where the list is older.
func (s *store) takeHeld() {
	held := s.written.held
	s.written.held = nil
	for _, w := range held {
		s.observe(w.object, w.belongs)
	}
}

// observeDeleted takes out an object whose deletion was just accepted.
func (s *store) observeDeleted(object *unstructured.Unstructured) change {
	name, uid, rv := nameOf(object), object.GetUID(), object.GetResourceVersion()
	found, ok := s.objects[name]
	gone := ok && (found.object.GetUID() == uid || newer(rv, found.object.GetResourceVersion()))
	if s.synced && !gone && !newer(rv, s.progress) {
		return change{} // the stream has shown that already
	}
	s.written.bury(name, deletion{uid, rv})
	if waiting, ok := s.written.held[name]; ok && waiting.object.GetUID() == uid {
		delete(s.written.held, name)
	}
	if !gone {
		return change{}
	}
	return s.drop(name)
}

func (w *written) mark(name types.NamespacedName, ahead bool) {
	if !ahead {
		delete(w.ahead, name)
		return
	}
	if w.ahead == nil {
		w.ahead = map[types.NamespacedName]selection{}
	}
	w.ahead[name] = selected
}

// hold keeps an object for the first list; of several writes the last.
func (w *written) hold(object *unstructured.Unstructured, belongs selection) {
	name := nameOf(object)
	if earlier, ok := w.held[name]; ok && !newer(object.GetResourceVersion(), earlier.object.GetResourceVersion()) {
		return
	}
	if w.held == nil {
		w.held = map[types.NamespacedName]waiting{}
	}
	w.held[name] = waiting{object, belongs}
}

func (w *written) bury(name types.NamespacedName, d deletion) {
	if earlier, ok := w.deleted[name]; d.uid == "" || ok && newer(earlier.resourceVersion, d.resourceVersion) {
		return
	}
	if w.deleted == nil {
		w.deleted = map[types.NamespacedName]deletion{}
	}
	w.deleted[name] = d
}

// gone forgets a deletion that the stream has shown.
func (w *written) gone(object *unstructured.Unstructured) {
	name := nameOf(object)
	if w.deleted[name].uid == object.GetUID() {
		delete(w.deleted, name)
	}
}

// outdates says whether an object is from before a deletion. A later object of
// the name ends the matter, and so does one that is being deleted: it lingers.
func (w *written) outdates(object *unstructured.Unstructured) bool {
	if len(w.deleted) == 0 {
		return false
	}
	name := nameOf(object)
	d, ok := w.deleted[name]
	if !ok {
		return false
	}
	if d.uid == object.GetUID() && object.GetDeletionTimestamp() == nil ||
		d.uid != object.GetUID() && newer(d.resourceVersion, object.GetResourceVersion()) {
		return true
	}
	delete(w.deleted, name)
	return false
}

// listed forgets the deletions that a complete list agrees with.
func (w *written) listed(names map[types.NamespacedName]struct{}, resourceVersion string) {
	for name, d := range w.deleted {
		if _, ok := names[name]; !ok && !newer(d.resourceVersion, resourceVersion) {
			delete(w.deleted, name)
		}
	}
}
