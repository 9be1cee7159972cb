package rbac

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// Rule is what a subject may do with one resource.
type Rule struct {
	// Group and Resource are those of the resource; Subresource may be empty.
	Group, Resource, Subresource string
	// Name is that of the only object that the rule is about; empty: all.
	Name string
	// Verbs are in the order of v1alpha1.CompareVerbs, each once.
	Verbs []string
	// Parts of the policy that need it, as in policy.Requirement.
	Parts []string
}

// inOrder returns the verbs in their order, each once.
func inOrder(verbs []string) []string {
	sorted := slices.Clone(verbs)
	slices.SortFunc(sorted, v1alpha1.CompareVerbs)
	return slices.Compact(sorted)
}

// resourcePath is the resource as RBAC writes it, with its subresource.
func (r Rule) resourcePath() string {
	if r.Subresource == "" {
		return r.Resource
	}
	return r.Resource + "/" + r.Subresource
}

// withVerbs returns the rule with these verbs only.
func (r Rule) withVerbs(verbs []string) Rule {
	r.Verbs = verbs
	return r
}

// splitByName returns the verbs that name an object as a rule for the object of this name
// only, and the others as a rule for all.
func (r Rule) splitByName(name string) []Rule {
	named := func(verb string) bool { return slices.Contains([]string{"get", "patch", "delete"}, verb) }
	one := r.withVerbs(slices.DeleteFunc(slices.Clone(r.Verbs), func(verb string) bool { return !named(verb) }))
	one.Name = name
	return []Rule{r.withVerbs(slices.DeleteFunc(slices.Clone(r.Verbs), named)), one}
}

// sameThing says whether both rules are about the same resource.
func (r Rule) sameThing(other Rule) bool {
	return r.sameResource(other) && r.Name == other.Name
}

func (r Rule) sameResource(other Rule) bool {
	return r.Group == other.Group && r.resourcePath() == other.resourcePath()
}

// isGranted says whether one of the rules allows a verb of r.
func (r Rule) isGranted(verb string, by []Rule) bool {
	return slices.ContainsFunc(by, func(rule Rule) bool {
		return rule.sameResource(r) && (rule.Name == "" || rule.Name == r.Name) && slices.Contains(rule.Verbs, verb)
	})
}

// mergeRule adds a rule to the rules, into the one about the same resource if there
// is one: kinds of several versions share their resource.
func mergeRule(rules []Rule, rule Rule) []Rule {
	i := slices.IndexFunc(rules, rule.sameThing)
	if i < 0 {
		return append(rules, rule)
	}
	rules[i].Verbs = inOrder(slices.Concat(rules[i].Verbs, rule.Verbs))
	for _, part := range rule.Parts {
		if !slices.Contains(rules[i].Parts, part) {
			rules[i].Parts = append(slices.Clip(rules[i].Parts), part)
		}
	}
	return rules
}

// mergeRules merges rules, and leaves out what one for all objects or those given
// elsewhere say already.
func mergeRules(rules, elsewhere []Rule) []Rule {
	var merged []Rule
	for _, rule := range rules {
		merged = mergeRule(merged, rule)
	}
	forAll := slices.DeleteFunc(slices.Clone(merged), func(r Rule) bool { return r.Name != "" })
	var tidied []Rule
	for _, rule := range merged {
		verbs := slices.DeleteFunc(slices.Clone(rule.Verbs), func(verb string) bool {
			return rule.isGranted(verb, elsewhere) || rule.Name != "" && rule.isGranted(verb, forAll)
		})
		if len(verbs) > 0 {
			tidied = append(tidied, rule.withVerbs(verbs))
		}
	}
	return tidied
}

// policyRule is the rule as it stands in a Role.
func (r Rule) policyRule() rbacv1.PolicyRule {
	rule := rbacv1.PolicyRule{APIGroups: []string{r.Group}, Resources: []string{r.resourcePath()}, Verbs: slices.Clone(r.Verbs)}
	if r.Name != "" {
		rule.ResourceNames = []string{r.Name}
	}
	return rule
}

// isIn says whether a rule of a Role says all that r says, literally.
func (r Rule) isIn(present rbacv1.PolicyRule) bool {
	for _, verb := range r.Verbs {
		if !slices.Contains(present.Verbs, verb) {
			return false
		}
	}
	named := len(present.ResourceNames) == 0 || r.Name != "" && slices.Contains(present.ResourceNames, r.Name)
	return named && slices.Contains(present.APIGroups, r.Group) && slices.Contains(present.Resources, r.resourcePath())
}
