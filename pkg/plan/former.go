package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// FormerKinds are the kinds of which a program made objects beside their owners, and another
// one that follows it makes none: those that no record names, as their ownerReference is
// enough to find them as long as the kind is looked at. Sorted.
func FormerKinds(before, after *policy.Program) (list []schema.GroupVersionKind) {
	kinds := map[schema.GroupKind]schema.GroupVersionKind{}
	for _, c := range before.Children {
		if isBesideOwner(c) {
			kinds[c.GVK.GroupKind()] = c.GVK
		}
	}
	for _, c := range after.Children {
		if isBesideOwner(c) {
			delete(kinds, c.GVK.GroupKind())
		}
	}
	for _, gvk := range kinds {
		list = append(list, gvk)
	}
	slices.SortFunc(list, compareKinds)
	return list
}

func compareKinds(a, b schema.GroupVersionKind) int {
	return slices.Compare(kindTexts(a), kindTexts(b))
}

func kindTexts(gvk schema.GroupVersionKind) []string {
	return []string{gvk.Kind, gvk.Group, gvk.Version}
}

// isBesideOwner says whether the objects of a child are beside their owner, as far as the program
// knows.
func isBesideOwner(c *policy.Child) bool {
	return c.Existing != v1alpha1.ExistingMerge && !c.CrossNamespace
}

// formerQuery is where objects of a former kind are looked for.
func (s *subject) formerQuery(gvk schema.GroupVersionKind) Query {
	return Query{Location: leftoverLocation(inventory.Entry{GVK: gvk, Namespace: s.namespace}), GVK: gvk}
}

// addFormerKinds wants the places of former kinds in which something is left, or that cannot be
// seen: none if garbage collection takes what is there.
func (p *queryPlanner) addFormerKinds() {
	if p.ensures || p.retired != "" && !p.removesAll() {
		return
	}
	p.former = nil
	for _, gvk := range p.snapshot.Former {
		if w := p.formerQuery(gvk); p.isFormerLeft(w) {
			p.former = append(p.former, gvk)
			p.queries = append(p.queries, w)
		}
	}
}

// isFormerLeft says whether something of ours is in the place of a former kind, or may be.
func (p *queryPlanner) isFormerLeft(w Query) bool {
	in := p.inputAt(w.Location, w.GVK)
	if in.Blocked == nil {
		return slices.ContainsFunc(p.indexes.ObjectsIn(in.Objects, w.Namespace), func(obj *unstructured.Unstructured) bool { return p.isPrunable(w.GVK, obj) })
	}
	if !in.Blocked.Gone && p.retired == "" {
		p.suspended.SuspendKind(w.GVK, unseenText(w.GVK, in.Blocked))
	}
	return !in.Blocked.Gone
}

// MakesBeside says whether a program makes objects of a kind beside their owners.
func MakesBeside(program *policy.Program, gvk schema.GroupVersionKind) bool {
	return slices.ContainsFunc(program.Children, func(c *policy.Child) bool { return isBesideOwner(c) && c.GVK.GroupKind() == gvk.GroupKind() })
}
