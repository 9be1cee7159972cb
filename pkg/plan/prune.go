package plan

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// prune plans the deletion of observed objects that are ours and that no child
// wants. Objects of a kind are safe as long as the name that some child of that
// kind wants is not known.
func (p *planner) prune() {
	for i := range p.children {
		c := &p.children[i]
		in := inputOf(p.snapshot.Children, c.ID)
		if in.Blocked != nil || p.undecided(c.GVK.GroupKind()) {
			continue
		}
		for _, obj := range in.Objects {
			if IsOurs(obj, p.snapshot.Owner.GetUID()) && !p.isWanted(obj) {
				p.remove(c.GVK, obj)
			}
		}
	}
	slices.SortFunc(p.deletions, func(a, b Action) int {
		return cmp.Or(cmp.Compare(a.GVK.Kind, b.GVK.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	p.actions = append(p.actions, p.deletions...)
}

// undecided says whether some child of the kind may want any object.
func (p *planner) undecided(kind schema.GroupKind) bool {
	return slices.ContainsFunc(p.children, func(c child) bool {
		return c.GVK.GroupKind() == kind && !c.unwanted && c.desired == nil
	})
}

func (p *planner) isWanted(obj *unstructured.Unstructured) bool {
	return slices.ContainsFunc(p.children, func(c child) bool {
		return c.live != nil && c.live.GetUID() == obj.GetUID()
	})
}

// remove plans one deletion, once, unless it is under way or was refused in this
// pass.
func (p *planner) remove(gvk schema.GroupVersionKind, obj *unstructured.Unstructured) {
	name := fmt.Sprintf("%s %q", gvk.Kind, obj.GetName())
	if isDeleting(obj) {
		p.blockers.add(Problem{Reason: v1alpha1.ReasonDeleting, Message: "waiting for " + name + ", which is no longer wanted, to be gone"})
		return
	}
	again := slices.ContainsFunc(p.deletions, func(a Action) bool { return a.UID == obj.GetUID() })
	if _, refused := p.snapshot.Problems[Leftover(gvk.Kind, obj.GetName())]; refused || again {
		return
	}
	reason := "is no longer wanted: " + p.whyUnwanted(gvk.GroupKind())
	p.blockers.add(Problem{Reason: v1alpha1.ReasonProgressing, Message: name + " " + reason})
	p.deletions = append(p.deletions, Action{
		Verb: Delete, GVK: gvk, Namespace: obj.GetNamespace(), Name: obj.GetName(),
		UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(), Reason: reason,
	})
}

// whyUnwanted blames the only child of the kind, if it is not wanted.
func (p *planner) whyUnwanted(kind schema.GroupKind) string {
	var only *child
	for i := range p.children {
		if p.children[i].GVK.GroupKind() != kind {
			continue
		}
		if only != nil {
			return "no child has this name"
		}
		only = &p.children[i]
	}
	if only.unwanted {
		return fmt.Sprintf("%s (child %s)", only.state.Message, only.ID)
	}
	return "no child has this name"
}
