package policy

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// Need is what the identity of a policy has to be allowed to do with one kind: the sum
// of its requirements.
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

// Needs is NeedsFor where it is not known which kinds have namespaces.
func (p *Program) Needs() []Need { return p.NeedsFor(nil) }

// NeedsFor returns the Requirements about objects that the policy works with, by kind: one
// Need for each kind, subresource and Elsewhere, in their order. The result belongs to the
// caller.
func (p *Program) NeedsFor(namespaced func(schema.GroupVersionKind) bool) []Need {
	var needs []Need
	for _, r := range p.Requirements(namespaced) {
		switch r.Purpose {
		case PurposeBlockDeletion, PurposeSelectNamespaces, PurposeImpersonate:
			continue
		}
		elsewhere := r.Scope != ScopeOwner
		i := slices.IndexFunc(needs, func(n Need) bool {
			return n.GVK == r.GVK && n.Subresource == r.Subresource && n.Elsewhere == elsewhere
		})
		if i < 0 {
			i = len(needs)
			needs = append(needs, Need{GVK: r.GVK, Subresource: r.Subresource, Elsewhere: elsewhere})
		}
		needs[i].addRequirement(r)
	}
	return needs
}

// addRequirement adds the part and the verbs of a requirement.
func (n *Need) addRequirement(r Requirement) {
	if !slices.Contains(n.Parts, r.Part) {
		n.Parts = append(n.Parts, r.Part)
	}
	n.Verbs = append(n.Verbs, r.Verbs...)
	slices.SortFunc(n.Verbs, v1alpha1.CompareVerbs)
	n.Verbs = slices.Compact(n.Verbs)
}
