package sim

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// managedFields are texts of JSON inside of JSON: to read and write them costs more than all
// else that a field manager does. So those of an object are kept as they were written.

// managedLists are the managedFields of objects, by name. Those of an object that has other
// ones by now are not used.
type managedLists map[types.NamespacedName]managedList

// managedList is one list in both forms. It never changes.
type managedList struct {
	values  []any // as in the object
	entries []metav1.ManagedFieldsEntry
}

// of returns the managedFields of an object. They are shared: do not change them.
func (all managedLists) of(obj *unstructured.Unstructured) managedList {
	values, _ := metadataOf(obj)["managedFields"].([]any)
	if len(values) == 0 {
		return managedList{values: values, entries: obj.GetManagedFields()}
	}
	key := keyOf(obj)
	if known := all[key]; len(known.values) > 0 && &known.values[0] == &values[0] {
		return known
	}
	return all.keep(key, managedList{values: values, entries: obj.GetManagedFields()})
}

func (all managedLists) keep(key types.NamespacedName, list managedList) managedList {
	if len(list.values) > 0 {
		all[key] = list
	}
	return list
}

// next is the list with these entries. It has the values of those that were there before.
func (l managedList) next(entries []metav1.ManagedFieldsEntry) managedList {
	made := managedList{entries: entries}
	for i := range entries {
		was := slices.IndexFunc(l.entries, func(e metav1.ManagedFieldsEntry) bool { return isSameEntry(&e, &entries[i]) })
		if was >= 0 {
			made.values = append(made.values, l.values[was])
			continue
		}
		if at := entries[i].Time; at != nil {
			entries[i].Time = &metav1.Time{Time: at.Truncate(time.Second).Local()} // as it comes out of JSON
		}
		value, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&entries[i])
		if err != nil {
			continue // the field manager wrote it
		}
		made.values = append(made.values, value)
	}
	return made
}

func isSameEntry(a, b *metav1.ManagedFieldsEntry) bool {
	return a.Manager == b.Manager && a.Operation == b.Operation && a.APIVersion == b.APIVersion && a.Subresource == b.Subresource &&
		a.FieldsType == b.FieldsType && a.Time.Equal(b.Time) && a.FieldsV1 != nil && b.FieldsV1 != nil && a.FieldsV1.Equal(*b.FieldsV1)
}

// shown is an object as a field manager sees it: without managedFields, and with their
// entries beside it.
type shown struct {
	*unstructured.Unstructured
	entries []metav1.ManagedFieldsEntry
}

// GetManagedFields implements metav1.Object.
func (s *shown) GetManagedFields() []metav1.ManagedFieldsEntry { return s.entries }

// SetManagedFields implements metav1.Object.
func (s *shown) SetManagedFields(entries []metav1.ManagedFieldsEntry) { s.entries = entries }

// manage notes in the managedFields of obj what a manager has changed of live. It owns obj, and
// shows the field manager only the fields that differ: the others say nothing.
func (c *call) manage(live, obj *unstructured.Unstructured, manager string) *unstructured.Unstructured {
	had := c.resource.managed.of(live)
	before, after := &shown{entries: had.entries}, &shown{}
	if given, ok := metadataOf(obj)["managedFields"]; ok && !isEqual(given, any(had.values)) {
		after.entries = obj.GetManagedFields()
	}
	if c.resource.redefined {
		before.Unstructured, after.Unstructured = withoutManaged(live), withoutManaged(obj)
	} else {
		before.Unstructured, after.Unstructured = differing(live, obj)
	}
	managed := c.served.fieldManager(c.Subresource).UpdateNoErrors(before, after, manager).(*shown)
	list := had.next(managed.entries)
	set(metadataOf(obj), "managedFields", list.values, list.values != nil)
	c.resource.managed.keep(keyOf(obj), list)
	return obj
}

// withoutManaged leaves managedFields out of an object. It shares the rest.
func withoutManaged(obj *unstructured.Unstructured) *unstructured.Unstructured {
	top, metadata := maps.Clone(obj.Object), maps.Clone(metadataOf(obj))
	delete(metadata, "managedFields")
	top["metadata"] = metadata
	return &unstructured.Unstructured{Object: top}
}

// differing leaves of two objects the kind, what identifies them, and the fields that are not
// alike, also of metadata, but no managedFields. It shares them.
func differing(a, b *unstructured.Unstructured) (fromA, fromB *unstructured.Unstructured) {
	fromA, fromB = withoutManaged(a), withoutManaged(b)
	dropAlike(fromA.Object, fromB.Object, "apiVersion", "kind", "metadata")
	dropAlike(metadataOf(fromA), metadataOf(fromB), "name", "uid")
	return fromA, fromB
}

// dropAlike removes the fields that two maps have alike, but for some.
func dropAlike(a, b map[string]any, but ...string) {
	for field, value := range a {
		if other, ok := b[field]; ok && !slices.Contains(but, field) && isEqual(value, other) {
			delete(a, field)
			delete(b, field)
		}
	}
}
