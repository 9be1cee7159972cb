package rbac

import "github.com/ambit-dev/ambit/pkg/policy"

// Finding returns the two ways to find the owners of a policy that no namespace
// limits; one of them is enough. owners is to list and watch owners in all
// namespaces, namespaces to list and watch these, so that owners can be looked
// for in each. Of the request only Program, Kind and Own count.
func Finding(r Request) (owners, namespaces Grant) {
	verbs := []string{"list", "watch"}
	owner := r.Kind(r.Program.Owner.GVK).Resource
	rule := Rule{Group: owner.Group, Resource: owner.Resource, Verbs: verbs, Parts: []string{policy.OwnerPart}}
	return r.grant(Everywhere, []Rule{rule}), r.grant(Everywhere, []Rule{{Resource: "namespaces", Verbs: verbs, Parts: rule.Parts}})
}
