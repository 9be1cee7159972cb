package rbac

import "slices"

// Check is one question to the API server: may Subject do this? Comparable.
type Check struct {
	Subject Subject
	// Namespace may be Everywhere.
	Namespace string
	// Verb, Group and Resource are never empty, save for the group of core kinds.
	// Subresource and Name may be empty.
	Verb, Group, Resource, Subresource, Name string
}

// Checks are the questions whose answers Lacking wants, in the order of the
// rules.
func (g Grant) Checks() []Check {
	var checks []Check
	for _, rule := range g.Rules {
		for _, verb := range rule.Verbs {
			checks = append(checks, g.check(rule, verb))
		}
	}
	return checks
}

func (g Grant) check(rule Rule, verb string) Check {
	return Check{
		Subject: g.Subject, Namespace: g.Namespace,
		Verb: verb, Group: rule.Group, Resource: rule.Resource, Subresource: rule.Subresource, Name: rule.Name,
	}
}

// Lacking returns the grant with those verbs only that are not allowed yet;
// without rules if nothing is missing. The receiver stays as it is.
func (g Grant) Lacking(allowed func(Check) bool) Grant {
	var lacking []Rule
	for _, rule := range g.Rules {
		verbs := slices.DeleteFunc(slices.Clone(rule.Verbs), func(verb string) bool { return allowed(g.check(rule, verb)) })
		if len(verbs) > 0 {
			lacking = append(lacking, rule.with(verbs))
		}
	}
	g.Rules = lacking
	return g
}

// VerbsOn returns the verbs that the grant has on the resource of a rule; empty,
// not nil, if there are none.
func (g Grant) VerbsOn(rule Rule) []string {
	for _, own := range g.Rules {
		if own.sameThing(rule) {
			return own.Verbs
		}
	}
	return []string{}
}
