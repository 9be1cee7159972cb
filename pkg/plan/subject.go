package plan

import (
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
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
	inventory inventoryUpdate
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
	if s.spec(id) == nil {
		id = kind.Kind + " objects"
	}
	return inputOf(s.snapshot.Children, at, id)
}

// spec returns the child of an id; nil if there is none.
func (s *subject) spec(id string) *policy.Child { return policy.FindChild(s.specs, id) }

// home returns the place in which all objects of a child are; false if that is not
// known before they are rendered.
func (s *subject) home(c *policy.Child) (Location, bool) {
	return homeOf(c, s.namespace, s.snapshot.Namespaced)
}

// atOf is the place of an entry: that of its child, if the child is still there and
// of the same kind; else one for all such candidates of the kind.
func (s *subject) atOf(e inventory.Entry) Location {
	c := s.spec(e.Child)
	if c != nil && c.GVK.GroupKind() == e.GVK.GroupKind() && (c.Existing == v1alpha1.ExistingMerge) == e.Merged {
		return Location{Child: e.Child, Namespace: e.Namespace}
	}
	return leftoverAt(e)
}

// generation is how many owners made each other up to this one, whatever their policies; 0
// for one that somebody else has made, and for the policy itself. Children of the first
// generation need no annotation for it: their labels say that an owner has made them.
func (s *subject) generation() int {
	owner := s.snapshot.Owner
	if owner == nil {
		return 0
	}
	labelled := 0
	if labels := labelsOf(owner); labels.Get(v1alpha1.LabelManagedBy) == v1alpha1.ManagedBy && labels.Has(v1alpha1.LabelOwnerUID) {
		labelled = 1
	}
	n, err := strconv.Atoi(text(field(owner.Object, "metadata", "annotations", v1alpha1.AnnotationGeneration)))
	if err != nil {
		return labelled
	}
	return max(n, labelled)
}
