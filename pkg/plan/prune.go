package plan

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// pruneCandidate is an observed object that is ours, or has fields of ours, and that no
// child wants.
type pruneCandidate struct {
	gvk schema.GroupVersionKind
	obj *unstructured.Unstructured
	// of is the child that it was made for, nil if that is not known any more; id is
	// that of the child then too.
	of   *child
	id   string
	rank int
	// merged: the object is not ours, but has fields of ours.
	merged bool
}

// pruner finds and removes what no child wants, after the planner has resolved what each wants.
type pruner struct {
	*planner
	candidates []pruneCandidate
	// hidden stands for candidates that may be where nothing can be seen.
	hidden []pruneWave
}

// prune plans the deletion of what is ours and no child wants: in reverse order of
// the graph, and never as long as some child may want it. Objects of a kind are
// safe as long as the name that some child of that kind wants is not known.
func (p *pruner) prune() {
	p.listQueries()
	(&inventoryPlanner{planner: p.planner}).enterAll()
	if p.inventory.Err != nil {
		p.blockers.add(*p.inventory.problem())
		p.suspended.add("the annotation "+v1alpha1.AnnotationChildren+" cannot be read", 0)
		return
	}
	p.reviewEntries()
	for _, w := range p.queries {
		if w.Names == nil {
			p.pruneAt(w)
		}
	}
	p.dropDuplicates()
	p.keepNewest()
	p.addHiddenWaves()
	p.removeCandidates(p.dependsFirst)
}

// addHiddenWaves notes the children that may have unwanted objects of which nothing is known:
// what those depend on stays as long.
func (p *pruner) addHiddenWaves() {
	for i := range p.children {
		c := &p.children[i]
		t := pruneWave{of: c, rank: p.rank(c)}
		problem := p.blockedPlace(c)
		switch {
		case len(p.candidates) == 0:
			return
		case problem != nil:
			t.name = fmt.Sprintf("objects of kind %s, which cannot be seen,", c.GVK.Kind)
			t.suspends = unseenText(c.GVK, problem)
		case !c.named() && p.suspended.kinds[c.GVK.GroupKind()]:
			t.name = fmt.Sprintf("objects of child %q, which may be unwanted,", c.ID)
			t.suspends = undecidedText(c)
		default:
			continue
		}
		p.hidden = append(p.hidden, t)
	}
}

// pruneAt finds what is left over in one place.
func (p *pruner) pruneAt(w Query) {
	in := p.inputAt(w.Location, w.GVK)
	if in.Blocked != nil {
		return
	}
	waits := p.undecided(w.GVK.GroupKind())
	for _, obj := range p.indexes.in(in.Objects, w.Namespace) {
		if obj.GetNamespace() != w.Namespace || p.isWanted(w.GVK, obj) || !p.isPrunable(w.GVK, obj) {
			continue
		}
		if waits != nil {
			p.suspended.forChild(waits)
			continue
		}
		p.addCandidate(w.GVK, obj, nil)
	}
}

// isPrunable says whether an object is ours by other than the inventory, whose
// entries are reviewed one by one, and is not one to be left behind. One with a claim that
// the inventory cannot prove may be: Ambit ties what it leaves behind by a token, and the
// ownerReference beside it is somebody else's.
func (s *subject) isPrunable(gvk schema.GroupVersionKind, obj *unstructured.Unstructured) bool {
	if s.ensures {
		return s.isEnsured(obj)
	}
	if !IsOurs(obj, s.owner) {
		return false
	}
	e, ok := s.inventory.entry(keyIn(gvk, obj))
	switch {
	case ok && s.isLeft(e, obj):
		return false
	case s.hasToken(obj):
		return ok && s.isProven(e, obj)
	}
	return true
}

// undecided returns a child of the kind that may want any object; nil if there is
// none.
func (p *pruner) undecided(kind schema.GroupKind) *child {
	for i := range p.children {
		if c := &p.children[i]; c.GVK.GroupKind() == kind && !c.named() {
			return c
		}
	}
	return nil
}

func (p *pruner) isWanted(gvk schema.GroupVersionKind, obj *unstructured.Unstructured) bool {
	w, ok := p.names.find(keyIn(gvk, obj))
	return ok && (w.item.live == nil || w.item.live.GetUID() == obj.GetUID())
}

// addCandidate notes a candidate. e is its entry in the inventory, if it was found by that.
func (p *pruner) addCandidate(gvk schema.GroupVersionKind, obj *unstructured.Unstructured, e *inventory.Entry) {
	if seen := obj.GroupVersionKind(); seen.GroupKind() == gvk.GroupKind() {
		gvk = seen // it may be served in another version than it was made in
	}
	l := pruneCandidate{gvk: gvk, obj: obj, of: p.madeFor(gvk, obj, e)}
	switch {
	case l.of != nil:
		l.id, l.rank = l.of.ID, p.rank(l.of)
	case e != nil:
		l.id, l.rank = e.Child, e.Rank
	}
	if e != nil {
		l.merged = e.Merged
	} else if l.of != nil && l.of.OnDelete == v1alpha1.DeleteOrphan {
		return
	}
	p.candidates = append(p.candidates, l)
}

// madeFor guesses the child that an object was made for: by annotation, by the inventory, or
// the first child of the kind. As what is to be left behind has no ownerReference, that is
// one with onDelete Orphan only if there is no other, and the object does not name one that
// is gone.
func (p *pruner) madeFor(gvk schema.GroupVersionKind, obj *unstructured.Unstructured, e *inventory.Entry) *child {
	named := text(field(obj.Object, "metadata", "annotations", v1alpha1.AnnotationChild))
	ids := []string{named}
	if e != nil {
		ids = append(ids, e.Child)
	} else if known, ok := p.inventory.entry(keyIn(gvk, obj)); ok {
		ids = append(ids, known.Child)
	}
	for _, id := range ids {
		if c := p.child(id); c != nil && c.GVK.GroupKind() == gvk.GroupKind() {
			return c
		}
	}
	if e != nil {
		return nil
	}
	var orphan *child
	for i := range p.children {
		switch c := &p.children[i]; {
		case c.GVK.GroupKind() != gvk.GroupKind():
		case c.OnDelete != v1alpha1.DeleteOrphan:
			return c
		case orphan == nil && named == "":
			orphan = c
		}
	}
	return orphan
}

// dropDuplicates keeps one of what was found in several places, sorted.
func (p *pruner) dropDuplicates() {
	slices.SortFunc(p.candidates, func(a, b pruneCandidate) int {
		return cmp.Or(cmp.Compare(a.gvk.Kind, b.gvk.Kind), cmp.Compare(a.gvk.Group, b.gvk.Group),
			cmp.Compare(a.obj.GetNamespace(), b.obj.GetNamespace()), cmp.Compare(a.obj.GetName(), b.obj.GetName()),
			cmp.Compare(a.obj.GetUID(), b.obj.GetUID()), -cmp.Compare(a.rank, b.rank))
	})
	p.candidates = slices.CompactFunc(p.candidates, func(a, b pruneCandidate) bool {
		return a.obj.GetUID() == b.obj.GetUID() && a.gvk.GroupKind() == b.gvk.GroupKind()
	})
}

// keepNewest takes those objects out that keep says stay.
func (p *pruner) keepNewest() {
	for i := range p.children {
		c := &p.children[i]
		if c.Keep == 0 || len(p.candidates) == 0 {
			continue
		}
		stay := p.newestCandidates(c)
		p.candidates = slices.DeleteFunc(p.candidates, func(l pruneCandidate) bool { return stay[l.obj.GetUID()] })
	}
}

// newestCandidates returns the newest candidates of a child, as many as it keeps.
func (p *pruner) newestCandidates(c *child) map[types.UID]bool {
	var list []*unstructured.Unstructured
	for _, l := range p.candidates {
		if l.of == c && !l.merged && !isDeleting(l.obj) {
			list = append(list, l.obj)
		}
	}
	made := func(obj *unstructured.Unstructured) string {
		return text(field(obj.Object, "metadata", "creationTimestamp"))
	}
	slices.SortFunc(list, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(-cmp.Compare(made(a), made(b)), cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	stay := map[types.UID]bool{}
	for _, obj := range list[:min(c.Keep, len(list))] {
		stay[obj.GetUID()] = true
	}
	return stay
}
