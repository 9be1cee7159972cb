package access

import (
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// Rules are all that an identity may do in one namespace, as the API server lists
// it. Nobody changes them once they are handed out.
type Rules struct {
	// Items are the rules for resources; any of them is enough.
	Items []authorizationv1.ResourceRule
	// Incomplete: there may be rights that Items do not show.
	Incomplete bool
}

// Decide evaluates the rules as RBAC does. It is Unknown where no rule allows the
// access and the rules are incomplete, and where only rules for certain names match
// an access that has none.
func (r Rules) Decide(a Access) Decision {
	names := false
	for i := range r.Items {
		rule := &r.Items[i]
		if !ruleCovers(rule, a) {
			continue
		}
		if len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, a.Name) && a.Name != "" {
			return Allowed
		}
		names = names || a.Name == ""
	}
	if names || r.Incomplete {
		return Unknown
	}
	return Denied
}

// ruleCovers says whether a rule is about an access, names aside.
func ruleCovers(rule *authorizationv1.ResourceRule, a Access) bool {
	return oneOf(rule.Verbs, a.Verb) && oneOf(rule.APIGroups, a.Group) &&
		slices.ContainsFunc(rule.Resources, func(pattern string) bool { return patternMatches(pattern, a) })
}

// oneOf says whether list has the value, or the "*" that stands for all.
func oneOf(list []string, value string) bool {
	return slices.Contains(list, "*") || slices.Contains(list, value)
}

// patternMatches compares a rule's resource: "*" is everything with all subresources,
// "pods" the objects only, "pods/log" and "*/scale" subresources.
func patternMatches(pattern string, a Access) bool {
	if a.Subresource == "" {
		return pattern == "*" || pattern == a.Resource
	}
	return pattern == "*" || pattern == a.Resource+"/"+a.Subresource || pattern == "*/"+a.Subresource
}
