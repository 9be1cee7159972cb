package prune

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Suspension says why nothing, or not everything, is pruned. Its zero value says that nothing is in the way.
type Suspension struct {
	why     string
	objects int
	// kinds are those of these objects.
	kinds map[schema.GroupKind]bool
}

// NoteReason notes objects that may be unwanted and stay. The first reason is told.
func (s *Suspension) NoteReason(why string, objects int) {
	if s.why == "" {
		s.why = why
	}
	s.objects += objects
}

// SuspendKind notes one object of a kind.
func (s *Suspension) SuspendKind(gvk schema.GroupVersionKind, why string) {
	s.SuspendUnseen(gvk)
	s.NoteReason(why, 1)
}

// SuspendUnseen notes that there may be an object of a kind, which nobody is told of.
func (s *Suspension) SuspendUnseen(gvk schema.GroupVersionKind) {
	if s.kinds == nil {
		s.kinds = map[schema.GroupKind]bool{}
	}
	s.kinds[gvk.GroupKind()] = true
}

// SuspendsKind reports whether an object of a kind was noted.
func (s *Suspension) SuspendsKind(gvk schema.GroupVersionKind) bool { return s.kinds[gvk.GroupKind()] }

// ConditionText is for the owner's conditions; empty if nothing is suspended.
func (s *Suspension) ConditionText() string {
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
