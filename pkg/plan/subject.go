package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/bindings"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/plan/objectmeta"
	"github.com/ambit-dev/ambit/pkg/plan/problems"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// subject is what a plan is made for, and what was observed of it: an owner, or the policy
// itself for what it ensures. It says what is theirs, and knows nothing of what is planned.
type subject struct {
	program *policy.Program
	// specs are the children to plan for, and part is where they stand in the policy.
	specs    []*policy.Child
	part     string
	snapshot Snapshot
	// owner is the uid that proves what is ours. namespace is the owner's, empty for
	// one without; of ensured objects, the policy's.
	owner     types.UID
	namespace string
	// ensures: the objects are those of the policy itself.
	ensures   bool
	inventory inventory.Update
}

// inputAt returns what was observed in a place.
func (s *subject) inputAt(at Location, kind schema.GroupVersionKind) Input {
	if in, ok := s.snapshot.Children[at]; ok {
		return in
	}
	if in, ok := s.snapshot.Children[Location{Child: at.Child}]; ok && in.Blocked != nil {
		return in
	}
	id := at.Child
	if s.findSpec(id) == nil {
		id = kind.Kind + " objects"
	}
	return inputOf(s.snapshot.Children, at, id)
}

// findSpec returns the child of an id; nil if there is none.
func (s *subject) findSpec(id string) *policy.Child { return policy.FindChild(s.specs, id) }

// readsNoChild reports whether an expression reads no child, and asks of none whether it is ready.
func (s *subject) readsNoChild(x bindings.Expression) bool {
	isChild := func(id string) bool { return s.findSpec(id) != nil }
	return !slices.ContainsFunc(x.FreeVariables(), isChild) && !slices.ContainsFunc(x.AskedReady(), isChild)
}

// homePlace returns the place in which all objects of a child are; false if that is not
// known before they are rendered.
func (s *subject) homePlace(c *policy.Child) (Location, bool) {
	return homeLocationOf(c, s.namespace, s.snapshot.Namespaced)
}

// locationOf is the place of an entry: that of its child, if the child is still there and
// of the same kind; else one for all such candidates of the kind.
func (s *subject) locationOf(e inventory.Entry) Location {
	c := s.findSpec(e.Child)
	if c != nil && c.GVK.GroupKind() == e.GVK.GroupKind() && (c.Existing == v1alpha1.ExistingMerge) == e.Merged {
		return Location{Child: e.Child, Namespace: e.Namespace}
	}
	return leftoverLocation(e)
}

// ownerGeneration is how many owners made each other up to this one, whatever their policies; 0
// for one that somebody else has made, and for the policy itself. Children of the first
// generation need no annotation for it: their labels say that an owner has made them.
func (s *subject) ownerGeneration() int {
	owner := s.snapshot.Owner
	if owner == nil {
		return 0
	}
	labelled := 0
	if labels := objectmeta.LabelsOf(owner); labels.Get(v1alpha1.LabelManagedBy) == v1alpha1.ManagedBy && labels.Has(v1alpha1.LabelOwnerUID) {
		labelled = 1
	}
	n, err := strconv.Atoi(objectmeta.TextOf(objectmeta.FieldAt(owner.Object, "metadata", "annotations", v1alpha1.AnnotationGeneration)))
	if err != nil {
		return labelled
	}
	return max(n, labelled)
}

// removesAll says whether also that is removed here which garbage collection would
// take.
func (p *planner) removesAll() bool {
	return p.snapshot.Retire || p.program.Deletion == v1alpha1.DeletionOrdered
}

// leftoverLocation is the place of entries without a child; its Child is no identifier.
func leftoverLocation(e inventory.Entry) Location {
	if e.Merged {
		return Location{Child: e.GVK.String() + ", merged", Namespace: e.Namespace}
	}
	return Location{Child: e.GVK.String(), Namespace: e.Namespace}
}

// isOwnSite reports whether the program would record something in a place: a child of the
// kind may be there.
func (s *subject) isOwnSite(site inventory.Site) bool {
	return slices.ContainsFunc(s.program.Children, func(c *policy.Child) bool {
		switch {
		case c.GVK.GroupKind() != site.Kind, (c.Existing == v1alpha1.ExistingMerge) != site.Merged:
			return false
		case site.Namespace == "" || site.Namespace == s.namespace:
			return true
		}
		return c.CrossNamespace && s.program.MayHaveNamespace(site.Namespace)
	})
}

// inventoryProblem is that of an inventory that cannot be read.
func (s *subject) inventoryProblem() *Problem {
	return &Problem{Reason: v1alpha1.ReasonInvalid, Terminal: true, Message: fmt.Sprintf(
		"%v: nothing is deleted before the annotation %s is as Ambit has written it, or is removed", s.inventory.Err, v1alpha1.AnnotationChildren)}
}

// eachReported yields the problems that the snapshot itself reports, but for places,
// in a stable order.
func (s *subject) eachReported(yield func(Problem)) {
	if !s.ensures {
		for _, w := range s.program.Watches {
			if in := inputOf(s.snapshot.Watches, w.ID, w.ID); in.Blocked != nil {
				yield(*in.Blocked)
			}
		}
	}
	s.eachWritten(yield)
}

// eachWritten yields the problems of writes.
func (s *subject) eachWritten(yield func(Problem)) {
	for _, problem := range s.snapshot.Standing {
		yield(problem)
	}
	if len(s.snapshot.Problems) == 0 {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(s.snapshot.Problems)) {
		yield(s.snapshot.Problems[key])
	}
}

// eachPlace yields the problems of the places that were observed, in a stable order.
func (s *subject) eachPlace(yield func(Problem)) {
	var blocked []Location
	for at, in := range s.snapshot.Children {
		if in.Blocked != nil {
			blocked = append(blocked, at)
		}
	}
	slices.SortFunc(blocked, CompareLocations)
	for _, at := range blocked {
		yield(*s.snapshot.Children[at].Blocked)
	}
}

// CompareLocations orders places by child, then by namespace.
func CompareLocations(a, b Location) int {
	return cmp.Or(cmp.Compare(a.Child, b.Child), cmp.Compare(a.Namespace, b.Namespace))
}

// deniedAccesses returns the accesses that were refused.
func (s *subject) deniedAccesses() []v1alpha1.DeniedAccess {
	var list []Problem
	note := func(problem Problem) { list = append(list, problem) }
	s.eachPlace(note)
	s.eachReported(note)
	return problems.DeniedAccesses(list)
}
