package sim

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Objects returns all objects, in a stable order. They are shared: do not change them.
func (s *Server) Objects() (all []*unstructured.Unstructured) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.sortedResourcesLocked() {
		all = r.appendObjects(all)
	}
	return all
}

// appendObjects appends all objects of the resource, in the order of their keys.
func (r *resource) appendObjects(all []*unstructured.Unstructured) []*unstructured.Unstructured {
	for _, key := range r.sortedKeys("") {
		all = append(all, r.objects[key])
	}
	return all
}

// ObjectsOf returns all objects of a kind, whatever its group, in a stable order. They are
// shared: do not change them.
func (s *Server) ObjectsOf(kind string) (all []*unstructured.Unstructured) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.sortedResourcesLocked() {
		if r.kind == kind {
			all = r.appendObjects(all)
		}
	}
	return all
}

// Allows reports whether the authorizer, as far as it has seen, permits a request.
func (s *Server) Allows(r Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.permitLocked(r) == nil
}
