package recordedkinds

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// TestNoLockOverAnswers: while it is asked whether a kind was answered, others may read the Index.
func TestNoLockOverAnswers(t *testing.T) {
	var r Index
	for i := range 2 * OwnerLimit {
		gvk := schema.GroupVersionKind{Group: "g.example.com", Version: "v1", Kind: fmt.Sprintf("K%d", i)}
		r.AddKind(types.NamespacedName{Name: "x"}, gvk, func(schema.GroupVersionKind) bool {
			if !r.mu.TryLock() {
				t.Fatal("a lock is held")
			}
			r.mu.Unlock()
			return i%2 == 0
		})
	}
}

// many are more kinds than are ever looked up at a time.
const many = 800

// searcher looks up the kinds of an Index, and has its answers only when it says so.
type searcher struct {
	index    Index
	answered kindSet
}

// name is a namespace with the one owner in it, or, of "Crowd7", owner 7 in one namespace.
func (s *searcher) name(owner string) types.NamespacedName {
	if crowded, ok := strings.CutPrefix(owner, "Crowd"); ok {
		return types.NamespacedName{Namespace: "crowd", Name: crowded}
	}
	return types.NamespacedName{Namespace: owner, Name: owner}
}

func (s *searcher) kind(owner string, i int) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: fmt.Sprintf("g%d.example.com", i), Version: "v1", Kind: owner}
}

// add has an owner need a kind.
func (s *searcher) add(owner types.NamespacedName, gvk schema.GroupVersionKind) bool {
	_, ok := s.index.AddKind(owner, gvk, func(gvk schema.GroupVersionKind) bool { return s.answered[gvk] })
	return ok
}

// admitted is how many kinds an owner may have of so many that it names.
func (s *searcher) admitted(owner string, n int) (count int) {
	for i := range n {
		if s.add(s.name(owner), s.kind(owner, i)) {
			count++
		}
	}
	return count
}

// searched is how many kinds are looked up.
func (s *searcher) searched() (n int) {
	for _, gvk := range s.index.AllKinds() {
		if !s.answered[gvk] {
			n++
		}
	}
	return n
}

// answerAll has an answer for each kind that is looked up.
func (s *searcher) answerAll() {
	for _, gvk := range s.index.AllKinds() {
		s.answered[gvk] = true
	}
}

// release has an owner need nothing.
func (s *searcher) release(owner types.NamespacedName) {
	s.index.RetainKinds(owner, func(schema.GroupVersionKind) bool { return false })
}

// TestSearchesAreBounded: of kinds that only records name some are looked up at a time, and an owner
// that names many takes nothing from one that names few.
func TestSearchesAreBounded(t *testing.T) {
	s := searcher{answered: kindSet{}}
	large := []string{"A", "B", "C", "D"}
	for _, owner := range large {
		if n := s.admitted(owner, many); n != OwnerLimit {
			t.Errorf("an owner has %d kinds looked up", n)
		}
	}
	if n := s.searched(); n != PolicyLimit {
		t.Errorf("%d kinds are looked up", n)
	}
	if n := s.admitted("Victim", 3); n != 3 {
		t.Errorf("the owner that names three has %d looked up", n)
	}
	for _, owner := range large {
		s.admitted(owner, many)
	}
	if n := s.admitted("Victim", 3); n != 3 || s.searched() > PolicyLimit {
		t.Errorf("later the owner that names three has %d looked up, of %d", n, s.searched())
	}
	for range many / OwnerLimit {
		s.answerAll()
		s.admitted("A", many)
	}
	if n := s.admitted("A", many); n < many-OwnerLimit {
		t.Errorf("after all answers an owner has had %d looked up", n)
	}
	s.release(s.name("A"))
	if n := s.admitted("E", many); n < PolicyLimit/5 {
		t.Errorf("there is room again, and an owner has %d looked up", n)
	}
	for _, owner := range append(large, "E", "Victim") {
		s.release(s.name(owner))
	}
	s.mustBeEmpty(t)
}

// TestSearchesOfTenants: many owners of one namespace, and owners of many namespaces, leave room for
// an owner that names few kinds.
func TestSearchesOfTenants(t *testing.T) {
	s := searcher{answered: kindSet{}}
	for i := range 100 {
		s.admitted(fmt.Sprint("Crowd", i), 3)
	}
	if n := s.searched(); n != tenantLimit {
		t.Errorf("for the owners of one namespace %d kinds are looked up", n)
	}
	if n := s.admitted("Victim", 3); n != 3 {
		t.Errorf("beside them the owner that names three has %d looked up", n)
	}
	small := func(visit func(owner types.NamespacedName, gvk schema.GroupVersionKind)) {
		for i := range 2 * tenantLimit {
			for _, namespace := range []string{"x", "y", "z"} {
				visit(types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(i)}, s.kind(namespace, i))
			}
		}
	}
	small(func(owner types.NamespacedName, gvk schema.GroupVersionKind) { s.add(owner, gvk) })
	if n := s.admitted("Late", 3); n != 3 || s.searched() != PolicyLimit {
		t.Errorf("beside four namespaces of owners with one each the owner that names three has %d looked up", n)
	}
	small(func(owner types.NamespacedName, _ schema.GroupVersionKind) { s.release(owner) })
	for i := range 100 {
		s.release(s.name(fmt.Sprint("Crowd", i)))
	}
	s.release(s.name("Late"))
	s.release(s.name("Victim"))
	s.mustBeEmpty(t)
}

// mustBeEmpty fails the test if anything is left once no owner needs a kind.
func (s *searcher) mustBeEmpty(t *testing.T) {
	t.Helper()
	if len(s.index.byOwner)+len(s.index.searched)+len(s.index.owners) > 0 {
		t.Errorf("all are gone: %v are left", s.index.AllKinds())
	}
}
