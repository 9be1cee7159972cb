package controller

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/placeuses"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// reviewScope is how much is asked about a place for the sake of owners that are there, or
// may be.
type reviewScope int

const (
	// asUsed: nothing but what owners make use of there.
	asUsed reviewScope = iota
	// toSee: also what it takes to see owners.
	toSee
	// atHome: also all that the policy needs in an owner's own namespace.
	atHome
	// everything: also what it needs elsewhere, wherever that is.
	everything
)

// resourceNeed is a policy's need with the resource that it is about.
type resourceNeed struct {
	policy.Need
	resource schema.GroupResource
	// elsewhere: not in the owner's namespace, or that is not known before an owner is
	// looked at.
	elsewhere bool
}

// resourceNeeds returns what the policy needs, of the kinds that are known by now, and
// whether that is all.
func (op *policyController) resourceNeeds() (list []resourceNeed, complete bool) {
	complete = true
	for _, n := range op.program.NeedsFor(op.isNamespaced) {
		found, ok := op.controller.discovery.LookupAnyVersion(n.GVK)
		if !ok {
			complete = false
			continue
		}
		next := resourceNeed{Need: n, resource: found.GVR.GroupResource(), elsewhere: n.Elsewhere || !found.Namespaced && !op.isClusterScoped.Load()}
		i := slices.IndexFunc(list, next.isSame)
		if i < 0 {
			list = append(list, next)
			continue
		}
		list[i] = list[i].mergeNeed(next)
	}
	return list, complete
}

// isNamespaced says whether a kind lives in namespaces; one that is not known yet is
// taken to.
func (op *policyController) isNamespaced(gvk schema.GroupVersionKind) bool {
	found, ok := op.controller.discovery.LookupAnyVersion(gvk)
	return !ok || found.Namespaced
}

// isSame says whether two needs are about the same resource, in the same places: of a
// kind in several versions there may be more.
func (n resourceNeed) isSame(other resourceNeed) bool {
	return n.resource == other.resource && n.Subresource == other.Subresource && n.elsewhere == other.elsewhere
}

// mergeNeed returns the need for what either needs.
func (n resourceNeed) mergeNeed(other resourceNeed) resourceNeed {
	n.Parts = slices.Concat(n.Parts, other.Parts)
	n.Verbs = slices.Concat(n.Verbs, other.Verbs)
	slices.SortFunc(n.Verbs, v1alpha1.CompareVerbs)
	n.Verbs = slices.Compact(n.Verbs)
	return n
}

// isOwners says whether the need is to see the owners themselves.
func (n resourceNeed) isOwners() bool {
	return n.Subresource == "" && slices.Contains(n.Parts, policy.OwnerPart)
}

// isOf says whether the need is one in a place that is asked about so far.
func (n resourceNeed) isOf(e reviewScope, verb string) bool {
	switch e {
	case everything:
		return true
	case atHome:
		return !n.elsewhere
	case toSee:
		return n.isOwners() && isReading(verb)
	}
	return false
}

func (n resourceNeed) accessFor(verb string) access.Access {
	return access.Access{Verb: verb, Group: n.resource.Group, Resource: n.resource.Resource, Subresource: n.Subresource}
}

// requiredAccess are the same to ask about a place: those of the extent, and of what is used;
// each once. The first of them are required, the rest is of use only: what all
// namespaces are asked about in search of owners is required in none.
func (op *policyController) requiredAccess(needs []resourceNeed, place string, e reviewScope, used []placeuses.Use) (list []access.Access, required int) {
	searching := place == allNamespaces && !op.isClusterScoped.Load()
	for _, optional := range []bool{false, true} {
		for _, n := range needs {
			for _, verb := range n.Verbs {
				if optional == searching && n.isOf(e, verb) || n.isUsed(used, verb, optional) {
					list = addAccess(list, n.accessFor(verb))
				}
			}
		}
		list = op.leftoverAccess(list, used, optional)
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

// isUsed says whether the need is one of what is used.
func (n resourceNeed) isUsed(used []placeuses.Use, verb string, optional bool) bool {
	return (!optional || isReading(verb)) && slices.ContainsFunc(used, func(w placeuses.Use) bool {
		return w.Part != "" && w.Optional == optional && slices.Contains(n.Parts, w.Part)
	})
}

// leftoverAccess adds what it takes to remove what no part of the policy wants any more, or to
// see it in all namespaces together.
func (op *policyController) leftoverAccess(list []access.Access, used []placeuses.Use, optional bool) []access.Access {
	for _, w := range used {
		if w.Part != "" || w.Optional != optional {
			continue
		}
		found, ok := op.controller.discovery.LookupAnyVersion(w.Kind)
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
			list = addAccess(list, access.Access{Verb: verb, Group: found.GVR.Group, Resource: found.GVR.Resource})
		}
	}
	return list
}

func isReading(verb string) bool { return verb == "list" || verb == "watch" }

// readAccess is what it takes to watch a resource.
func readAccess(resource schema.GroupResource) []access.Access {
	return []access.Access{
		{Verb: "list", Group: resource.Group, Resource: resource.Resource},
		{Verb: "watch", Group: resource.Group, Resource: resource.Resource},
	}
}

// verbsOf are the verbs of accesses.
func verbsOf(list []access.Access) []string {
	verbs := make([]string, len(list))
	for i, a := range list {
		verbs[i] = a.Verb
	}
	return verbs
}
