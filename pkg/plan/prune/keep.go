package prune

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/plan/objectmeta"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// mayKeep reports whether a candidate is one that a child may keep.
func mayKeep(c *Candidate, child *policy.Child) bool {
	return c.Child == child && !c.Merged && !objectmeta.IsDeleting(c.Object)
}

// KeepNewest takes the newest candidates of a child out, as many as it keeps. The list is used
// up.
func KeepNewest(list []Candidate, child *policy.Child) []Candidate {
	if child.Keep == 0 || len(list) == 0 {
		return list
	}
	stay := newestOf(list, child)
	return slices.DeleteFunc(list, func(c Candidate) bool { return stay[c.Object.GetUID()] })
}

// newestOf returns the newest candidates of a child, as many as it keeps.
func newestOf(candidates []Candidate, child *policy.Child) map[types.UID]bool {
	var list []*unstructured.Unstructured
	for i := range candidates {
		if mayKeep(&candidates[i], child) {
			list = append(list, candidates[i].Object)
		}
	}
	made := func(obj *unstructured.Unstructured) string {
		return objectmeta.TextOf(objectmeta.FieldAt(obj.Object, "metadata", "creationTimestamp"))
	}
	slices.SortFunc(list, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(-cmp.Compare(made(a), made(b)), cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	stay := map[types.UID]bool{}
	for _, obj := range list[:min(child.Keep, len(list))] {
		stay[obj.GetUID()] = true
	}
	return stay
}

// KeepAsked takes the candidates of a child out of which ask says that they stay, in the order of the list. If
// it cannot say so of one, it is asked of no more, and all that the child may keep are taken out: uncertain is how many
// these are then, else 0. The list is used up.
func KeepAsked(list []Candidate, child *policy.Child, ask func(*unstructured.Unstructured) (stays, known bool)) (left []Candidate, uncertain int) {
	stay, all := map[types.UID]bool{}, true
	for i := range list {
		if c := &list[i]; mayKeep(c, child) {
			uncertain++
			if all {
				stay[c.Object.GetUID()], all = ask(c.Object)
			}
		}
	}
	if all {
		uncertain = 0
	}
	return slices.DeleteFunc(list, func(c Candidate) bool { return mayKeep(&c, child) && (!all || stay[c.Object.GetUID()]) }), uncertain
}

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
