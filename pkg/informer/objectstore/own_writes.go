package objectstore

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// ownWrites is what a store knows of own writes that its informer has not shown yet.
// All of it is small and empties itself as the informer goes on.
type ownWrites struct {
	// unconfirmed are the names of entries with entry.unconfirmed, and whether they belong.
	unconfirmed map[types.NamespacedName]Selection
	// held are objects that wait for the first list.
	held map[types.NamespacedName]heldWrite
	// deleted are the objects whose deletion was accepted: what an event or a list
	// shows of such a uid, without a deletionTimestamp, is from before that.
	deleted map[types.NamespacedName]deletion
}

// heldWrite is an object that waits for a list.
type heldWrite struct {
	object  *unstructured.Unstructured
	belongs Selection
}

// deletion is what is known of a deleted object. Its uid never comes back.
type deletion struct {
	uid             types.UID
	resourceVersion string // before the deletion
}

// ObserveWrite takes in an object that was just written, as the API server answered.
func (s *Store) ObserveWrite(object *unstructured.Unstructured, belongs Selection) Change {
	if belongs != NotSelected && s.ownWrites.isOutdated(object) {
		return Change{}
	}
	if !s.synced {
		s.ownWrites.holdUntilListed(object, belongs)
		return Change{}
	}
	name, rv := NameOf(object), object.GetResourceVersion()
	found, ok := s.objects[name]
	switch {
	case !isNewer(rv, s.progress), ok && !isNewer(rv, found.resourceVersion):
		return Change{} // the informer knows better
	case belongs == NotSelected && ok:
		return s.dropObject(name)
	case belongs == NotSelected, belongs == SelectionUnknown && !ok:
		return Change{}
	}
	c := s.putObject(object, true)
	s.ownWrites.unconfirmed[name] = belongs
	return c
}

// OwnWrite returns the object of an own write whose event is still to come, nil if that name has
// none of that resourceVersion.
func (s *Store) OwnWrite(name types.NamespacedName, resourceVersion string) *unstructured.Unstructured {
	if _, ok := s.ownWrites.unconfirmed[name]; !ok {
		return nil
	}
	return s.ObjectOfVersion(name, resourceVersion)
}

// HasOwnWrites reports whether the event of an own write is still to come.
func (s *Store) HasOwnWrites() bool { return len(s.ownWrites.unconfirmed) > 0 }

// applyHeld uses what was written before the first list, where the list is older.
func (s *Store) applyHeld() {
	held := s.ownWrites.held
	s.ownWrites.held = nil
	for _, w := range held {
		s.ObserveWrite(w.object, w.belongs)
	}
}

// ObserveDeletion takes out an object whose deletion was just accepted.
func (s *Store) ObserveDeletion(object *unstructured.Unstructured) Change {
	name, uid, rv := NameOf(object), object.GetUID(), object.GetResourceVersion()
	found, ok := s.objects[name]
	gone := ok && (s.objectOf(found).GetUID() == uid || isNewer(rv, found.resourceVersion))
	if s.synced && !gone && !isNewer(rv, s.progress) {
		return Change{} // the informer has shown that already
	}
	s.ownWrites.noteDeletion(name, deletion{uid, rv})
	if waiting, ok := s.ownWrites.held[name]; ok && waiting.object.GetUID() == uid {
		delete(s.ownWrites.held, name)
	}
	if !gone {
		return Change{}
	}
	return s.dropObject(name)
}

func (w *ownWrites) setUnconfirmed(name types.NamespacedName, unconfirmed bool) {
	if !unconfirmed {
		delete(w.unconfirmed, name)
		return
	}
	if w.unconfirmed == nil {
		w.unconfirmed = map[types.NamespacedName]Selection{}
	}
	w.unconfirmed[name] = Selected
}

// holdUntilListed keeps an object for the first list; of several writes the last.
func (w *ownWrites) holdUntilListed(object *unstructured.Unstructured, belongs Selection) {
	name := NameOf(object)
	if earlier, ok := w.held[name]; ok && !isNewer(object.GetResourceVersion(), earlier.object.GetResourceVersion()) {
		return
	}
	if w.held == nil {
		w.held = map[types.NamespacedName]heldWrite{}
	}
	w.held[name] = heldWrite{object, belongs}
}

func (w *ownWrites) noteDeletion(name types.NamespacedName, d deletion) {
	if earlier, ok := w.deleted[name]; d.uid == "" || ok && isNewer(earlier.resourceVersion, d.resourceVersion) {
		return
	}
	if w.deleted == nil {
		w.deleted = map[types.NamespacedName]deletion{}
	}
	w.deleted[name] = d
}

// forgetDeletion forgets a deletion that the informer has shown.
func (w *ownWrites) forgetDeletion(object *unstructured.Unstructured) {
	name := NameOf(object)
	if w.deleted[name].uid == object.GetUID() {
		delete(w.deleted, name)
	}
}

// isOutdated reports whether an object is from before a deletion. The deletion is
// forgotten when a later object of the name comes, or the object itself with its
// deletionTimestamp: a finalizer keeps it.
func (w *ownWrites) isOutdated(object *unstructured.Unstructured) bool {
	if len(w.deleted) == 0 {
		return false
	}
	name := NameOf(object)
	d, ok := w.deleted[name]
	if !ok {
		return false
	}
	if d.uid == object.GetUID() && object.GetDeletionTimestamp() == nil ||
		d.uid != object.GetUID() && isNewer(d.resourceVersion, object.GetResourceVersion()) {
		return true
	}
	delete(w.deleted, name)
	return false
}

// forgetListed forgets the deletions that a complete list agrees with.
func (w *ownWrites) forgetListed(names map[types.NamespacedName]struct{}, resourceVersion string) {
	for name, d := range w.deleted {
		if _, ok := names[name]; !ok && !isNewer(d.resourceVersion, resourceVersion) {
			delete(w.deleted, name)
		}
	}
}
