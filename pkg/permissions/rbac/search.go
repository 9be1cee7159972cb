// Package rbac says which rights a policy needs, as data, and as the Roles and
// bindings that grant exactly these.
//
// The way from a policy to objects has three steps. NeededGrants turns what the
// program needs into grants: one for each subject and namespace. It knows where that is
// as far as the policy says so itself: a template is evaluated without an owner, and
// what fails then is up to owners. Grant.LackingVerbs leaves of a grant what the answers to
// its GrantChecks do not allow yet. Grant.GrantObjects is a Role and a RoleBinding, or their
// cluster-wide kin.
//
// No rule has a wildcard or one of the verbs escalate and bind; impersonate comes
// only with the name of one ServiceAccount. A policy that makes Roles needs what they
// grant; what of that cannot be said without these is a remark of NeededGrants. No rule of a
// cluster is ever evaluated here: what is granted already, the API server is asked by whoever
// uses this package.
//
// The package is pure. Its types are values: slices in them are shared, and must
// not be changed.
package rbac

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// search goes through the parts of a policy and collects what they need, and where.
type search struct {
	Request
	known   cel.Activation // what does not depend on owners
	fixed   map[*policy.Child]fixed
	rules   []placed
	roaming []string // parts whose namespaces only owners say
	remarks []string
}

// placed is a rule in a place.
type placed struct {
	place string
	rule  Rule
}

func (r Request) searchPlaces(ctx context.Context, list []policy.Requirement) *search {
	s := &search{Request: r, known: constantVariables(ctx, r.Program), fixed: map[*policy.Child]fixed{}}
	for _, child := range slices.Concat(r.Program.Children, r.Program.Ensured) {
		s.fixed[child] = evaluateConstant(ctx, child.Template, s.known)
	}
	for _, requirement := range list {
		s.addRequirement(ctx, requirement)
	}
	if s.needsAllNamespaces() {
		s.remarks = append([]string{fmt.Sprintf("only owners say in which namespaces %s may be: rights for that are in all, unless --namespaces names some",
			strings.Join(s.roaming, ", "))}, s.remarks...)
	}
	return s
}

// needsAllNamespaces says whether rights are for all namespaces only because it is owners who say
// in which of them they are needed.
func (s *search) needsAllNamespaces() bool {
	return len(s.roaming) > 0 && slices.Contains(s.Elsewhere, Everywhere) && !slices.Contains(s.Namespaces, Everywhere)
}

// addRules notes rules for places.
func (s *search) addRules(places []string, rules ...Rule) {
	if slices.Contains(places, Everywhere) {
		places = []string{Everywhere}
	}
	for _, place := range places {
		for _, rule := range rules {
			if len(rule.Verbs) > 0 {
				s.rules = append(s.rules, placed{place, rule})
			}
		}
	}
}

// rulesAt are the rules for a place.
func (s *search) rulesAt(place string) []Rule {
	var rules []Rule
	for _, p := range s.rules {
		if p.place == place {
			rules = append(rules, p.rule)
		}
	}
	return rules
}

// namedPlaces are all that there are rules for but Everywhere, those of the request first.
func (s *search) namedPlaces() []string {
	places := slices.Clone(s.Namespaces)
	for _, p := range s.rules {
		if !slices.Contains(places, p.place) {
			places = append(places, p.place)
		}
	}
	return slices.DeleteFunc(places, func(place string) bool { return place == Everywhere })
}

// addRequirement notes what one part of the policy needs, where it needs it.
func (s *search) addRequirement(ctx context.Context, r policy.Requirement) {
	switch {
	case r.Purpose == policy.PurposeImpersonate: // it is for Ambit itself
	case r.Purpose == policy.PurposeBlockDeletion && !s.Finalizers:
	case r.Child != nil:
		f := s.fixed[r.Child]
		places := s.placesOf(r, f, "metadata", "namespace")
		s.addRules(places, s.childRules(r, f)...)
		s.handOut(r.Child, f, places)
	case r.Watch != nil:
		rule := s.ruleFor(r)
		if s.ByName && !s.isNamespaced(r.GVK) {
			rule.Name, _ = evaluateConstant(ctx, r.Watch.Name, s.known).textAt()
		}
		s.addRules(s.placesOf(r, evaluateConstant(ctx, r.Watch.Namespace, s.known)), rule)
	default:
		s.addRules(s.placesOf(r, fixed{}), s.ruleFor(r))
	}
}

// placesOf are the places of a requirement; f says at path which namespace its template
// names.
func (s *search) placesOf(r policy.Requirement, f fixed, path ...string) []string {
	namespace, known := f.textAt(path...)
	switch {
	case !s.isNamespaced(r.GVK), r.Scope == policy.ScopeCluster, s.OwnersEverywhere && r.Part == policy.OwnerPart:
		return []string{Everywhere}
	case r.Scope == policy.ScopeAll:
		return s.Searched
	case r.Purpose == policy.PurposeEnsure && known && namespace == "" && s.Program.Namespace != "":
		return []string{s.Program.Namespace}
	case r.Scope == policy.ScopeTemplate || r.Scope == policy.ScopePolicy:
		return s.placesOfPart(r.Part, namespace, known)
	case r.Watch != nil && !s.isNamespaced(s.Program.Owner.GVK): // they are in all namespaces
		return []string{Everywhere}
	}
	return s.Namespaces
}

// placesOfPart are the places of a part that says itself where it is.
func (s *search) placesOfPart(part, namespace string, known bool) []string {
	if known && namespace != "" {
		return []string{namespace}
	}
	s.roaming = append(s.roaming, fmt.Sprintf("%q", part))
	return s.Elsewhere
}

// childRules are the rules for an object that the policy makes. One without a namespace
// has rules for its name only, where that is asked for and known.
func (s *search) childRules(r policy.Requirement, f fixed) []Rule {
	name, known := f.textAt("metadata", "name")
	if s.ByName && !s.isNamespaced(r.GVK) && known && name != "" {
		return s.ruleFor(r).splitByName(name)
	}
	return []Rule{s.ruleFor(r)}
}

func (r Request) ruleFor(q policy.Requirement) Rule {
	resource := r.Kind(q.GVK).Resource
	return Rule{
		Group: resource.Group, Resource: resource.Resource, Subresource: q.Subresource,
		Name: q.Name, Verbs: q.Verbs, Parts: []string{q.Part},
	}
}

// impersonationGrant is the right to act as the policy's ServiceAccount, and to see that it is
// there; without rules if the policy names none. The name has a colon: names of policies
// have not.
func (r Request) impersonationGrant(list []policy.Requirement) Grant {
	g := Grant{Policy: r.shownName(), Name: r.roleName() + ":impersonate", Subject: r.Own, Namespace: r.Program.Namespace}
	i := slices.IndexFunc(list, func(q policy.Requirement) bool { return q.Purpose == policy.PurposeImpersonate })
	if i >= 0 {
		g.Rules = []Rule{r.ruleFor(list[i])}
	}
	return g
}
