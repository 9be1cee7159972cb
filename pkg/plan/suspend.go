package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// suspension says why nothing, or not everything, is pruned.
type suspension struct {
	why     string
	objects int
	// kinds are those of these objects.
	kinds map[schema.GroupKind]bool
}

// add notes objects that may be unwanted and stay. The first reason is told.
func (s *suspension) add(why string, objects int) {
	if s.why == "" {
		s.why = why
	}
	s.objects += objects
}

// forChild keeps an object because a child may want it.
func (s *suspension) forChild(c *child) { s.of(c.GVK, undecidedText(c)) }

func undecidedText(c *child) string {
	if c.overall().State == Blocked {
		return fmt.Sprintf("child %q cannot be rendered", c.ID)
	}
	return fmt.Sprintf("child %q is not rendered yet", c.ID)
}

// forBlocked keeps an object because its kind cannot be seen.
func (s *suspension) forBlocked(gvk schema.GroupVersionKind, problem *Problem) {
	s.of(gvk, unseenText(gvk, problem))
}

func unseenText(gvk schema.GroupVersionKind, problem *Problem) string {
	return fmt.Sprintf("objects of kind %s cannot be seen: %s", gvk.Kind, problem.Message)
}

// of notes one object of a kind.
func (s *suspension) of(gvk schema.GroupVersionKind, why string) {
	if s.kinds == nil {
		s.kinds = map[schema.GroupKind]bool{}
	}
	s.kinds[gvk.GroupKind()] = true
	s.add(why, 1)
}

// text is for the owner's conditions; empty if nothing is suspended.
func (s suspension) text() string {
	switch s.objects {
	case 0:
		if s.why == "" {
			return ""
		}
		return "pruning is suspended because " + s.why
	case 1:
		return "pruning is suspended because " + s.why + "; 1 object that may be unwanted stays"
	}
	return fmt.Sprintf("pruning is suspended because %s; %d objects that may be unwanted stay", s.why, s.objects)
}
