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

// noteReason notes objects that may be unwanted and stay. The first reason is told.
func (s *suspension) noteReason(why string, objects int) {
	if s.why == "" {
		s.why = why
	}
	s.objects += objects
}

// suspendForChild keeps an object because a child may want it.
func (s *suspension) suspendForChild(c *child) { s.suspendKind(c.GVK, undecidedText(c)) }

func undecidedText(c *child) string {
	if c.overallState().State == Blocked {
		return fmt.Sprintf("child %q cannot be rendered", c.ID)
	}
	return fmt.Sprintf("child %q is not rendered yet", c.ID)
}

// suspendForBlocked keeps an object because its kind cannot be seen.
func (s *suspension) suspendForBlocked(gvk schema.GroupVersionKind, problem *Problem) {
	s.suspendKind(gvk, unseenText(gvk, problem))
}

func unseenText(gvk schema.GroupVersionKind, problem *Problem) string {
	return fmt.Sprintf("objects of kind %s cannot be seen: %s", gvk.Kind, problem.Message)
}

// suspendKind notes one object of a kind.
func (s *suspension) suspendKind(gvk schema.GroupVersionKind, why string) {
	s.suspendUnseen(gvk)
	s.noteReason(why, 1)
}

// suspendUnseen notes that there may be an object of a kind, which nobody is told of.
func (s *suspension) suspendUnseen(gvk schema.GroupVersionKind) {
	if s.kinds == nil {
		s.kinds = map[schema.GroupKind]bool{}
	}
	s.kinds[gvk.GroupKind()] = true
}

// conditionText is for the owner's conditions; empty if nothing is suspended.
func (s suspension) conditionText() string {
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
