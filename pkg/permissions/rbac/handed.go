package rbac

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/ambit-dev/ambit/pkg/policy"
)

// handOut notes what it takes to make an object that gives rights to others: the API
// server lets nobody give what they do not have, and nobody here has one of the verbs
// escalate and bind.
func (s *search) handOut(child *policy.Child, f fixed, places []string) {
	if child.GVK.Group != rbacv1.GroupName {
		return
	}
	switch child.GVK.Kind {
	case "Role", "ClusterRole":
		s.handOutRole(child, f, places)
	case "RoleBinding", "ClusterRoleBinding":
		s.handOutBinding(child, f)
	}
}

func (s *search) handOutRole(child *policy.Child, f fixed, places []string) {
	const must = "must have these too, and they are not printed here"
	if !f.isConstant("rules") || !f.isConstant("aggregationRule") {
		s.addRemark(child, "gives rights that only owners say", must)
		return
	}
	role, err := roleOf(f.value)
	switch {
	case err != nil:
		s.addRemark(child, "gives rights that cannot be read", must)
		return
	case role.AggregationRule != nil:
		s.addRemark(child, "gives the rights of other roles", "must be allowed everything for that, which is not printed here")
	}
	var strange bool
	for _, given := range role.Rules {
		if isPlain(given) {
			s.addRules(places, expandRule(given, child.ID)...)
		} else {
			strange = true
		}
	}
	if strange {
		s.addRemark(child, "gives rights by wildcards, on URLs, or to escalate, bind or impersonate", must)
	}
}

func (s *search) handOutBinding(child *policy.Child, f fixed) {
	kind, kindKnown := f.textAt("roleRef", "kind")
	name, nameKnown := f.textAt("roleRef", "name")
	switch {
	case !kindKnown || !nameKnown:
		s.addRemark(child, "gives the rights of a role that only owners name",
			"must have these too, and they are not printed here unless the policy makes that role")
	case kind == "" || name == "": // it decorates one that has a role
		s.addRemark(child, "may give the rights of a role to others", "must have these too, and they are not printed here")
	case !s.makesRole(f, kind, name):
		s.addRemark(child, fmt.Sprintf("gives the rights of %s %q", kind, name), "must have these too, and they are not printed here")
	}
}

// makesRole says whether the policy itself makes the role of a binding, so that what
// that takes is noted with the role.
func (s *search) makesRole(f fixed, kind, name string) bool {
	namespace, fixedThere := f.textAt("metadata", "namespace")
	return slices.ContainsFunc(slices.Concat(s.Program.Children, s.Program.Ensured), func(role *policy.Child) bool {
		if role.GVK.Group != rbacv1.GroupName || role.GVK.Kind != kind {
			return false
		}
		is := s.fixed[role]
		if own, known := is.textAt("metadata", "name"); !known || own != name {
			return false
		}
		its, known := is.textAt("metadata", "namespace")
		return kind == "ClusterRole" || known && fixedThere && its == namespace
	})
}

// addRemark notes that a child does what its maker must have rights for.
func (s *search) addRemark(child *policy.Child, does, must string) {
	who := s.actingSubject().UserName()
	if who == "" {
		who = "who makes it"
	}
	s.remarks = append(s.remarks, fmt.Sprintf("%s %q %s: %s %s", child.GVK.Kind, child.ID, does, who, must))
}

// roleOf reads what is in a Role or ClusterRole.
func roleOf(value any) (*rbacv1.ClusterRole, error) {
	object, _ := value.(map[string]any)
	data, err := json.Marshal(map[string]any{"rules": object["rules"], "aggregationRule": object["aggregationRule"]})
	if err != nil {
		return nil, fmt.Errorf("encoding a role: %w", err)
	}
	var role rbacv1.ClusterRole
	if err := json.Unmarshal(data, &role); err != nil {
		return nil, fmt.Errorf("reading a role: %w", err)
	}
	return &role, nil
}

// isPlain says whether a rule is about resources by name, and lets nobody raise
// rights.
func isPlain(given rbacv1.PolicyRule) bool {
	if len(given.NonResourceURLs) > 0 {
		return false
	}
	raising := []string{"escalate", "bind", "impersonate"}
	return !slices.ContainsFunc(slices.Concat(given.APIGroups, given.Resources, given.Verbs), func(s string) bool {
		return strings.Contains(s, "*") || slices.Contains(raising, s)
	})
}

// expandRule are rules that say the same, each of one resource and name.
func expandRule(given rbacv1.PolicyRule, part string) []Rule {
	var rules []Rule
	for _, group := range given.APIGroups {
		for _, path := range given.Resources {
			resource, subresource, _ := strings.Cut(path, "/")
			rule := Rule{Group: group, Resource: resource, Subresource: subresource, Verbs: inOrder(given.Verbs), Parts: []string{part}}
			if len(given.ResourceNames) == 0 {
				rules = append(rules, rule)
			}
			for _, rule.Name = range given.ResourceNames {
				rules = append(rules, rule)
			}
		}
	}
	return rules
}
