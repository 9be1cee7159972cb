package plan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/plan/objectmeta"
	"github.com/ambit-dev/ambit/pkg/plan/prune"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// pruner finds and removes what no child wants, after the planner has resolved what each wants.
type pruner struct {
	*planner
	candidates []prune.Candidate
	// hidden stands for candidates that may be where nothing can be seen.
	hidden []prune.Wave
}

// addCandidate notes a candidate. e is its entry in the inventory, if it was found by that.
func (p *pruner) addCandidate(gvk schema.GroupVersionKind, obj *unstructured.Unstructured, e *inventory.Entry) {
	if seen := obj.GroupVersionKind(); seen.GroupKind() == gvk.GroupKind() {
		gvk = seen // it may be served in another version than it was made in
	}
	c := prune.Candidate{GVK: gvk, Object: obj, Child: p.madeFor(gvk, obj, e)}
	switch {
	case c.Child != nil:
		c.ID, c.Rank = c.Child.ID, p.graph.RankOf(c.Child.ID)
	case e != nil:
		c.ID, c.Rank = e.Child, e.Rank
	}
	if e != nil {
		c.Merged = e.Merged
	} else if c.Child != nil && c.Child.OnDelete == v1alpha1.DeleteOrphan {
		return
	}
	p.candidates = append(p.candidates, c)
}

// madeFor guesses the child that an object was made for: by the inventory, whose entry e is if the
// object was found by that; by annotation, which of an object with merged fields may be that of another
// owner; or the first child of the kind. As what is to be left behind has no ownerReference, that is
// one with onDelete Orphan only if there is no other, and the object does not name one that
// is gone.
func (p *pruner) madeFor(gvk schema.GroupVersionKind, obj *unstructured.Unstructured, e *inventory.Entry) *policy.Child {
	named := objectmeta.TextOf(objectmeta.FieldAt(obj.Object, "metadata", "annotations", v1alpha1.AnnotationChild))
	ids := []string{named}
	if e != nil && e.Merged {
		ids = []string{e.Child}
	} else if e != nil {
		ids = []string{e.Child, named}
	} else if known, ok := p.inventory.FindEntry(keyOfObject(gvk, obj)); ok {
		ids = []string{known.Child, named}
	}
	for _, id := range ids {
		if c := p.findSpec(id); c != nil && c.GVK.GroupKind() == gvk.GroupKind() {
			return c
		}
	}
	if e != nil {
		return nil
	}
	var orphan *policy.Child
	for _, c := range p.specs {
		switch {
		case c.GVK.GroupKind() != gvk.GroupKind():
		case c.OnDelete != v1alpha1.DeleteOrphan:
			return c
		case orphan == nil && named == "":
			orphan = c
		}
	}
	return orphan
}

// undecidedChild returns a child of the kind that may want any object; nil if there is
// none.
func (p *pruner) undecidedChild(kind schema.GroupKind) *child {
	for i := range p.children {
		if c := &p.children[i]; c.GVK.GroupKind() == kind && !c.hasKnownNames() {
			return c
		}
	}
	return nil
}

func (p *pruner) isWanted(gvk schema.GroupVersionKind, obj *unstructured.Unstructured) bool {
	w, ok := p.names.findWanted(keyOfObject(gvk, obj))
	return ok && (w.instance.live == nil || w.instance.live.GetUID() == obj.GetUID())
}

func candidateState(c *prune.Candidate) ChildState {
	s := ChildState{ID: c.ID, Name: c.Object.GetName(), Namespace: c.Object.GetNamespace(), State: Deleting, Reason: v1alpha1.ReasonDeleting}
	if c.Merged {
		s.Message = "the fields that were merged into it are taken back"
	}
	return s
}
