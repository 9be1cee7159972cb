package policy

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// OwnerPart is the Part of a Need that the owner itself has; no child or watch
// has this id.
const OwnerPart = "owner"

// Need is what a policy has to be allowed to do with one kind.
type Need struct {
	// Parts are OwnerPart and the ids of children, watches and what is ensured that
	// need it, in the program's order.
	Parts []string
	GVK   schema.GroupVersionKind
	// Subresource is `status` or empty.
	Subresource string
	// Elsewhere: it is needed in namespaces that are not the owner's, or are not known
	// before there is an owner. Else it is needed in each namespace that the policy
	// works in.
	Elsewhere bool
	// Verbs are in the order of v1alpha1.Verbs.
	Verbs []string
}

// Needs returns all that the policy's identity has to be allowed: one Need for
// each kind, subresource and Elsewhere; the owner first, then its status, children,
// watches and what is ensured. Each verb counts, whether this or that owner makes use of
// it today: a child may have to be made again (create), corrected (patch), looked at
// where one of its name exists (get), and removed (delete). The result belongs to the
// caller.
func (p *Program) Needs() []Need { return p.NeedsFor(nil) }

// NeedsFor is Needs where it is known which kinds have namespaces, as for MarksFor;
// nil: it is not.
func (p *Program) NeedsFor(namespaced func(schema.GroupVersionKind) bool) []Need {
	var needs needs
	needs.add(Need{GVK: p.Owner.GVK, Verbs: p.ownerVerbs(namespaced)}, OwnerPart)
	if !p.Owner.SkipStatus {
		needs.add(Need{GVK: p.Owner.GVK, Subresource: "status", Verbs: []string{"patch"}}, OwnerPart)
	}
	for _, child := range p.Children {
		needs.add(Need{GVK: child.GVK, Elsewhere: child.CrossNamespace, Verbs: child.verbs()}, child.ID)
	}
	for _, w := range p.Watches {
		needs.add(Need{GVK: w.GVK, Elsewhere: w.AllNamespaces || w.Namespace != nil, Verbs: []string{"list", "watch"}}, w.ID)
	}
	for _, child := range p.Ensured {
		needs.add(Need{GVK: child.GVK, Elsewhere: true, Verbs: child.verbs()}, child.ID)
	}
	return needs
}

func (p *Program) ownerVerbs(namespaced func(schema.GroupVersionKind) bool) []string {
	if p.NeedsFinalizerFor(namespaced) {
		return []string{"list", "watch", "patch"}
	}
	return []string{"list", "watch"}
}

// verbs returns what may have to be done with the objects of a child.
func (child *Child) verbs() []string {
	if child.Existing == v1alpha1.ExistingMerge {
		return []string{"get", "list", "watch", "patch"}
	}
	replaced := child.Apply == v1alpha1.ApplyCreate || child.Apply == v1alpha1.ApplyRecreate
	return slices.DeleteFunc(v1alpha1.Verbs(), func(verb string) bool {
		return verb == "patch" && replaced && child.Existing != v1alpha1.ExistingAdopt ||
			verb == "delete" && child.OnDelete == v1alpha1.DeleteOrphan && child.Apply != v1alpha1.ApplyRecreate
	})
}

// needs has one of each kind, subresource and Elsewhere.
type needs []Need

func (n *needs) add(need Need, part string) {
	i := slices.IndexFunc(*n, func(o Need) bool {
		return o.GVK == need.GVK && o.Subresource == need.Subresource && o.Elsewhere == need.Elsewhere
	})
	if i < 0 {
		i = len(*n)
		*n = append(*n, Need{GVK: need.GVK, Subresource: need.Subresource, Elsewhere: need.Elsewhere})
	}
	o := &(*n)[i]
	o.Parts, o.Verbs = append(o.Parts, part), append(o.Verbs, need.Verbs...)
	slices.SortFunc(o.Verbs, v1alpha1.CompareVerbs)
	o.Verbs = slices.Compact(o.Verbs)
}

// Identity returns the user name of the ServiceAccount that the policy acts as,
// or empty for Ambit itself.
func (p *Program) Identity() string {
	if p.ServiceAccount == "" {
		return ""
	}
	return "system:serviceaccount:" + p.Namespace + ":" + p.ServiceAccount
}
