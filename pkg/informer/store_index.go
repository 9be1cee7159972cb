package informer

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// listSubset returns the objects of a subset. Names without a namespace are in the given
// one.
func (s *store) listSubset(p subset, namespace string) []*unstructured.Unstructured {
	if p.isByName() {
		return s.listNames(p.names, namespace)
	}
	label, value := p.label, p.value
	values, indexed := s.index[label]
	if label == "" || !indexed {
		return s.scanLabel(label, value)
	}
	entries := values[value]
	if len(entries) == 0 {
		return nil
	}
	objects := make([]*unstructured.Unstructured, 0, len(entries))
	for found := range entries {
		objects = append(objects, found.object)
	}
	return objects
}

// listNames is list for names: it looks each of them up.
func (s *store) listNames(n names, namespace string) []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	for name := range n.all(namespace) {
		if found, ok := s.objects[name]; ok {
			objects = append(objects, found.object)
		}
	}
	return objects
}

// scanLabel is list without an index.
func (s *store) scanLabel(label, value string) []*unstructured.Unstructured {
	if len(s.objects) == 0 {
		return nil
	}
	var objects []*unstructured.Unstructured
	if label == "" {
		objects = make([]*unstructured.Unstructured, 0, len(s.objects))
	}
	for _, found := range s.objects {
		if label == "" || hasLabel(found.object, label, value) {
			objects = append(objects, found.object)
		}
	}
	return objects
}

// indexBy begins to index a label; nothing happens if it is indexed already.
func (s *store) indexBy(label string) {
	if _, ok := s.index[label]; ok {
		return
	}
	if s.index == nil {
		s.index = map[string]map[string]map[*storeEntry]struct{}{}
	}
	s.index[label] = map[string]map[*storeEntry]struct{}{}
	for _, found := range s.objects {
		s.reindexLabel(found, label, nil)
	}
}

// reindex moves an entry that had the object old (nil: it is new) to where its
// object belongs.
func (s *store) reindex(found *storeEntry, old *unstructured.Unstructured) {
	for label := range s.index {
		s.reindexLabel(found, label, old)
	}
}

func (s *store) reindexLabel(found *storeEntry, label string, old *unstructured.Unstructured) {
	value, has := labelOf(found.object, label)
	was, had := labelOf(old, label)
	if has == had && value == was {
		return
	}
	s.unindex(found, label, old)
	if !has {
		return
	}
	values := s.index[label]
	if values[value] == nil {
		values[value] = map[*storeEntry]struct{}{}
	}
	values[value][found] = struct{}{}
}

// unindex takes an entry from where the object put it.
func (s *store) unindex(found *storeEntry, label string, object *unstructured.Unstructured) {
	value, ok := labelOf(object, label)
	if !ok {
		return
	}
	values := s.index[label]
	delete(values[value], found)
	if len(values[value]) == 0 {
		delete(values, value)
	}
}
