package rbac

import (
	"cmp"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Subject is who gets rights: a ServiceAccount, or a user if Namespace is empty.
// The zero Subject is whoever asks: it can be asked about, and not granted to.
type Subject struct {
	// Namespace is that of the ServiceAccount.
	Namespace string
	// Name is that of the ServiceAccount or the user.
	Name string
}

// UserName is the name that the API server knows the subject by.
func (s Subject) UserName() string {
	if s.Namespace == "" {
		return s.Name
	}
	return "system:serviceaccount:" + s.Namespace + ":" + s.Name
}

// String is the subject in a sentence.
func (s Subject) String() string {
	if s == (Subject{}) {
		return "the caller"
	}
	return s.UserName()
}

// ImpliedGroups are those that the API server puts the subject in by itself. Of a user
// that is one only: which others it has, only its credentials say.
func (s Subject) ImpliedGroups() []string {
	const everybody = "system:authenticated"
	if s.Namespace == "" {
		return []string{everybody}
	}
	return []string{"system:serviceaccounts", "system:serviceaccounts:" + s.Namespace, everybody}
}

// bindingSubject is the subject in a binding.
func (s Subject) bindingSubject() rbacv1.Subject {
	if s.Namespace == "" {
		return rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: s.Name}
	}
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: s.Namespace, Name: s.Name}
}

// compareSubjects orders ServiceAccounts by namespace and name.
func compareSubjects(a, b Subject) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// Check is one question to the API server: may Subject do this? Comparable.
type Check struct {
	Subject Subject
	// Namespace may be Everywhere.
	Namespace string
	// Verb, Group and Resource are never empty, save for the group of core kinds.
	// Subresource and Name may be empty.
	Verb, Group, Resource, Subresource, Name string
}

// GrantChecks are the questions whose answers LackingVerbs wants, in the order of the
// rules.
func (g Grant) GrantChecks() []Check {
	var checks []Check
	for _, rule := range g.Rules {
		for _, verb := range rule.Verbs {
			checks = append(checks, g.checkOf(rule, verb))
		}
	}
	return checks
}

func (g Grant) checkOf(rule Rule, verb string) Check {
	return Check{
		Subject: g.Subject, Namespace: g.Namespace,
		Verb: verb, Group: rule.Group, Resource: rule.Resource, Subresource: rule.Subresource, Name: rule.Name,
	}
}

// LackingVerbs returns the grant with those verbs only that are not allowed yet;
// without rules if nothing is missing. The receiver stays as it is.
func (g Grant) LackingVerbs(allowed func(Check) bool) Grant {
	var lacking []Rule
	for _, rule := range g.Rules {
		verbs := slices.DeleteFunc(slices.Clone(rule.Verbs), func(verb string) bool { return allowed(g.checkOf(rule, verb)) })
		if len(verbs) > 0 {
			lacking = append(lacking, rule.withVerbs(verbs))
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
