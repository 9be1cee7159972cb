package permitted

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// allNamespaces is the namespace that stands for all.
const allNamespaces = ""

// Scoped watches in all namespaces where that is permitted, else in each of some namespaces where it is.
// PermissionEverywhere and ObserveWrite are safe for concurrent use; all other methods belong to one goroutine at a time.
type Scoped struct {
	owner       *Informers
	query       Query
	changed     func(Event)
	everywhere  *Watch
	byNamespace map[string]*Watch
}

// NewScoped returns a Scoped, which asks for nothing before RequireNamespaces. The query's Namespace is ignored;
// changed is that of NewWatch.
func (i *Informers) NewScoped(q Query, changed func(Event)) *Scoped {
	q.Namespace = allNamespaces
	return &Scoped{owner: i, query: q, changed: changed, everywhere: i.NewWatch(q, changed), byNamespace: map[string]*Watch{}}
}

// RequireNamespaces opens informers where that is permitted. namespaces, which the caller may not change any
// more, are where to watch if all may not be. It returns the watches that are open, in the order
// of namespaces, and whether it is known of all that matter what is permitted. While that is not known of
// all namespaces together, what is open by namespace stays.
func (s *Scoped) RequireNamespaces(namespaces []string) (open []*Watch, decided bool) {
	everywhere := s.everywhere.Require()
	switch {
	case everywhere.Decision == Allowed:
		s.keepOnly(nil)
		return []*Watch{s.everywhere}, everywhere.Reviewed
	case !everywhere.Reviewed:
		return s.openWatches(namespaces), false
	}
	s.keepOnly(namespaces)
	decided = true
	for _, namespace := range namespaces {
		decided = s.watchIn(namespace).Require().Reviewed && decided
	}
	return s.openWatches(namespaces), decided
}

// watchIn returns the watch in one namespace.
func (s *Scoped) watchIn(namespace string) *Watch {
	w, ok := s.byNamespace[namespace]
	if !ok {
		q := s.query
		q.Namespace = namespace
		w = s.owner.NewWatch(q, s.changed)
		s.byNamespace[namespace] = w
	}
	return w
}

// openWatches returns the watches in namespaces whose informers are open.
func (s *Scoped) openWatches(namespaces []string) (open []*Watch) {
	for _, namespace := range namespaces {
		if w, ok := s.byNamespace[namespace]; ok && w.listers != nil {
			open = append(open, w)
		}
	}
	return open
}

// keepOnly releases the watches outside of some namespaces.
func (s *Scoped) keepOnly(namespaces []string) {
	for namespace, w := range s.byNamespace {
		if !slices.Contains(namespaces, namespace) {
			w.Release()
			delete(s.byNamespace, namespace)
		}
	}
}

// PermissionEverywhere returns what is known of the permission to watch in all namespaces, without asking.
func (s *Scoped) PermissionEverywhere() Permission { return s.everywhere.Permission() }

// ObserveWrite puts an object, as the API server answered a write of it, into the informers that show it, before
// the event of that write arrives (informer.Set.Observe).
func (s *Scoped) ObserveWrite(object *unstructured.Unstructured) {
	for _, namespace := range []string{allNamespaces, object.GetNamespace()} {
		q := s.query
		q.Namespace = namespace
		for _, interest := range q.interestsOf() {
			s.owner.informers.Observe(interest.Key, object)
		}
	}
}

// ReleaseAll closes all informers and gives back all reviews.
func (s *Scoped) ReleaseAll() {
	s.everywhere.Release()
	s.keepOnly(nil)
}
