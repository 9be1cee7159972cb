package placepermissions

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/placeuses"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// Scope is how much is asked about a place for the sake of owners that are there, or may be. A larger
// one contains the smaller ones.
type Scope int

const (
	// AsUsed: nothing but what owners make use of there.
	AsUsed Scope = iota
	// ToSee: also what it takes to see owners.
	ToSee
	// AtHome: also all that the policy needs in an owner's own namespace.
	AtHome
	// Everything: also what it needs elsewhere, wherever that is.
	Everything
)

// Need is a policy's need with the resource that it is about.
type Need struct {
	policy.Need
	Resource schema.GroupResource
	// Elsewhere: not in the owner's namespace, or that is not known before an owner is looked at.
	Elsewhere bool
}

// AddNeed adds a need to a list in which there is one for each resource and place: of a kind in several
// versions there may be more. The list is the caller's.
func AddNeed(list []Need, next Need) []Need {
	i := slices.IndexFunc(list, next.isSame)
	if i < 0 {
		return append(list, next)
	}
	list[i] = list[i].mergeNeed(next)
	return list
}

// isSame reports whether two needs are about the same resource, in the same places.
func (n Need) isSame(other Need) bool {
	return n.Resource == other.Resource && n.Subresource == other.Subresource && n.Elsewhere == other.Elsewhere
}

// mergeNeed returns the need for what either needs.
func (n Need) mergeNeed(other Need) Need {
	n.Parts = slices.Concat(n.Parts, other.Parts)
	n.Verbs = slices.Concat(n.Verbs, other.Verbs)
	slices.SortFunc(n.Verbs, v1alpha1.CompareVerbs)
	n.Verbs = slices.Compact(n.Verbs)
	return n
}

// isOwners reports whether the need is to see the owners themselves.
func (n Need) isOwners() bool {
	return n.Subresource == "" && slices.Contains(n.Parts, policy.OwnerPart)
}

// isIn reports whether the need is one in a place that is asked about as far as the scope says.
func (n Need) isIn(scope Scope, verb string) bool {
	switch scope {
	case Everything:
		return true
	case AtHome:
		return !n.Elsewhere
	case ToSee:
		return n.isOwners() && isReading(verb)
	}
	return false
}

func (n Need) accessFor(verb string) access.Access {
	return access.Access{Verb: verb, Group: n.Resource.Group, Resource: n.Resource.Resource, Subresource: n.Subresource}
}

// isUsed reports whether the need is one of what is used.
func (n Need) isUsed(used []placeuses.Use, verb string, optional bool) bool {
	return (!optional || isReading(verb)) && slices.ContainsFunc(used, func(w placeuses.Use) bool {
		return w.Part != "" && w.Optional == optional && slices.Contains(n.Parts, w.Part)
	})
}

// question is what is asked about a place, as far as it depends on needs and uses.
type question struct {
	needs []Need
	scope Scope
	used  []placeuses.Use
	// searching: all namespaces are asked about in search of owners, which is required in none.
	searching bool
	// resourceOf finds the resource of a kind that no part of the policy wants any more.
	resourceOf func(schema.GroupVersionKind) (schema.GroupResource, bool)
}

// accessesToAsk returns what to ask, each access once. The first of them are required, the rest is of use
// only.
func (q question) accessesToAsk() (list []access.Access, required int) {
	for _, optional := range []bool{false, true} {
		for _, n := range q.needs {
			for _, verb := range n.Verbs {
				if optional == q.searching && n.isIn(q.scope, verb) || n.isUsed(q.used, verb, optional) {
					list = addAccess(list, n.accessFor(verb))
				}
			}
		}
		list = q.addLeftovers(list, optional)
		if !optional {
			required = len(list)
		}
	}
	return list, required
}

func addAccess(list []access.Access, a access.Access) []access.Access {
	if slices.Contains(list, a) {
		return list
	}
	return append(list, a)
}

// addLeftovers adds what it takes to remove what no part of the policy wants any more, or to see it in
// all namespaces together.
func (q question) addLeftovers(list []access.Access, optional bool) []access.Access {
	for _, w := range q.used {
		if w.Part != "" || w.Optional != optional {
			continue
		}
		resource, ok := q.resourceOf(w.Kind)
		if !ok {
			continue
		}
		verbs := []string{"get", "list", "watch", "delete"}
		switch {
		case optional:
			verbs = []string{"list", "watch"}
		case w.Released:
			verbs = []string{"list", "watch", "patch"}
		}
		for _, verb := range verbs {
			list = addAccess(list, access.Access{Verb: verb, Group: resource.Group, Resource: resource.Resource})
		}
	}
	return list
}

func isReading(verb string) bool { return verb == "list" || verb == "watch" }
