package objectstore

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// IndexLabel makes finding objects by a label cheap from now on; nothing happens if it is
// already.
func (s *Store) IndexLabel(label string) {
	if _, ok := s.labels[label]; ok {
		return
	}
	if s.labels == nil {
		s.labels = labelIndex{}
	}
	s.labels[label] = map[string]map[*entry]struct{}{}
	for _, found := range s.objects {
		s.labels.moveLabel(found, label, nil, s.objectOf(found))
	}
}

// DropIndex undoes IndexLabel.
func (s *Store) DropIndex(label string) { delete(s.labels, label) }

// GetObject returns one object of a subset, nil if it is not there.
func (s *Store) GetObject(p Subset, name types.NamespacedName) *unstructured.Unstructured {
	found, ok := s.objects[name]
	if !ok {
		return nil
	}
	if object := s.objectOf(found); p.matches(name, object) {
		return object
	}
	return nil
}

// ListSubset returns the objects of a subset, in no order.
func (s *Store) ListSubset(p Subset) []*unstructured.Unstructured {
	if p.IsByName() {
		return s.listNames(p)
	}
	values, indexed := s.labels[p.Label]
	if p.Label == "" || !indexed {
		return s.scanLabel(p.Label, p.Value)
	}
	entries := values[p.Value]
	if len(entries) == 0 {
		return nil
	}
	objects := make([]*unstructured.Unstructured, 0, len(entries))
	for found := range entries {
		objects = append(objects, s.objectOf(found))
	}
	return objects
}

// listNames is ListSubset for names: it looks each of them up.
func (s *Store) listNames(p Subset) []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	for name := range p.Names() {
		if found, ok := s.objects[name]; ok {
			objects = append(objects, s.objectOf(found))
		}
	}
	return objects
}

// scanLabel is ListSubset without an index.
func (s *Store) scanLabel(label, value string) []*unstructured.Unstructured {
	if len(s.objects) == 0 {
		return nil
	}
	var objects []*unstructured.Unstructured
	if label == "" {
		objects = make([]*unstructured.Unstructured, 0, len(s.objects))
	}
	for _, found := range s.objects {
		if object := s.objectOf(found); label == "" || hasLabel(object, label, value) {
			objects = append(objects, object)
		}
	}
	return objects
}

// labelIndex are the entries by label and value, for the labels that are indexed.
type labelIndex map[string]map[string]map[*entry]struct{}

// move moves an entry that had the object old (nil: it is new) to where its
// object belongs.
func (x labelIndex) move(found *entry, old, object *unstructured.Unstructured) {
	for label := range x {
		x.moveLabel(found, label, old, object)
	}
}

func (x labelIndex) moveLabel(found *entry, label string, old, object *unstructured.Unstructured) {
	value, has := LabelOf(object, label)
	was, had := LabelOf(old, label)
	if has == had && value == was {
		return
	}
	x.removeLabel(found, label, old)
	if !has {
		return
	}
	values := x[label]
	if values[value] == nil {
		values[value] = map[*entry]struct{}{}
	}
	values[value][found] = struct{}{}
}

func (x labelIndex) remove(found *entry, object *unstructured.Unstructured) {
	for label := range x {
		x.removeLabel(found, label, object)
	}
}

// removeLabel takes an entry from where the object put it.
func (x labelIndex) removeLabel(found *entry, label string, object *unstructured.Unstructured) {
	value, ok := LabelOf(object, label)
	if !ok {
		return
	}
	values := x[label]
	delete(values[value], found)
	if len(values[value]) == 0 {
		delete(values, value)
	}
}

// clear removes all entries; the same labels stay indexed.
func (x labelIndex) clear() {
	for label := range x {
		x[label] = map[string]map[*entry]struct{}{}
	}
}

// LabelOf returns a label of an object, without copying the labels. A nil object
// has none.
func LabelOf(object *unstructured.Unstructured, label string) (string, bool) {
	if object == nil {
		return "", false
	}
	metadata, _ := object.Object["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	value, ok := labels[label].(string)
	return value, ok
}

// hasLabel reports whether an object has a label with a value.
func hasLabel(object *unstructured.Unstructured, label, value string) bool {
	have, ok := LabelOf(object, label)
	return ok && have == value
}
