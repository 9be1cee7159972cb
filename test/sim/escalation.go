package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// admitRights refuses to let somebody grant what they do not have.
func (c *call) admitRights(obj *unstructured.Unstructured) error {
	if c.Resource.Group != rbacGroup {
		return nil
	}
	var wanted []rbacv1.PolicyRule
	switch c.Resource.Resource {
	case "roles", "clusterroles":
		if c.may("escalate", obj.GetName()) {
			return nil
		}
		var role rbacv1.Role
		mustConvert(obj, &role)
		wanted = role.Rules
	default:
		var b rbacv1.RoleBinding
		mustConvert(obj, &b)
		found, done, err := c.boundRules(b)
		if done {
			return err
		}
		wanted = found
	}
	held, _ := c.authorizer.rulesOf(c.actor(), c.Namespace)
	if lacking := uncovered(held, wanted); len(lacking) > 0 {
		user := c.actor()
		return apierrors.NewForbidden(c.gr(), obj.GetName(), fmt.Errorf(
			"user %q (groups=%q) is attempting to grant RBAC permissions not currently held:\n%s", user, groupsOf(user), strings.Join(lacking, "\n")))
	}
	return nil
}

// boundRules are the rules of the role that a binding binds; done says that nothing is
// to be compared.
func (c *call) boundRules(b rbacv1.RoleBinding) (rules []rbacv1.PolicyRule, done bool, err error) {
	resource, key := "clusterroles", types.NamespacedName{Name: b.RoleRef.Name}
	if b.RoleRef.Kind == "Role" {
		resource, key.Namespace = "roles", c.Namespace
	}
	bind := authorizationv1.ResourceAttributes{Verb: "bind", Group: rbacGroup, Resource: resource, Namespace: c.Namespace, Name: b.RoleRef.Name}
	if allowed, _ := c.authorizer.decide(c.actor(), bind); allowed {
		return nil, true, nil
	}
	rules, ok := c.authorizer.roles[key]
	if !ok {
		gr := c.gr()
		gr.Resource = resource
		return nil, true, apierrors.NewNotFound(gr, b.RoleRef.Name)
	}
	return rules, false, nil
}

func (c *call) may(verb, name string) bool {
	allowed, _ := c.authorizer.decide(c.actor(), authorizationv1.ResourceAttributes{
		Verb: verb, Group: c.Resource.Group, Resource: c.Resource.Resource, Namespace: c.Namespace, Name: name})
	return allowed
}

// uncovered are the rights in wanted that held does not have, each resource as a rule.
func uncovered(held []granted, wanted []rbacv1.PolicyRule) []string {
	verbs := map[string][]string{} // by the rest of a rule
	for _, rule := range wanted {
		for _, r := range rightsIn(rule) {
			if slices.ContainsFunc(held, func(g granted) bool { return allows(g.rule, r) }) {
				continue
			}
			rest := ruleText(r)
			if !slices.Contains(verbs[rest], r.Verb) {
				verbs[rest] = append(verbs[rest], r.Verb)
			}
		}
	}
	lines := make([]string, 0, len(verbs))
	for _, rest := range slices.Sorted(maps.Keys(verbs)) {
		lines = append(lines, fmt.Sprintf("%s, Verbs:[%s]}", rest, quoted(verbs[rest])))
	}
	return lines
}

// ruleText is a right as the API server writes a rule, without its verb and the end.
func ruleText(r authorizationv1.ResourceAttributes) string {
	resource := r.Resource
	if r.Subresource != "" {
		resource += "/" + r.Subresource
	}
	text := fmt.Sprintf("{APIGroups:[%q], Resources:[%q]", r.Group, resource)
	if r.Name != "" {
		text += fmt.Sprintf(", ResourceNames:[%q]", r.Name)
	}
	return text
}

// rightsIn takes a rule apart.
func rightsIn(rule rbacv1.PolicyRule) (all []authorizationv1.ResourceAttributes) {
	for _, group := range rule.APIGroups {
		for _, path := range rule.Resources {
			resource, sub, _ := strings.Cut(path, "/")
			for _, verb := range rule.Verbs {
				for _, name := range orNone(rule.ResourceNames) {
					all = append(all, authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource, Subresource: sub, Name: name})
				}
			}
		}
	}
	return all
}

func quoted(list []string) string {
	texts := make([]string, len(list))
	for i, text := range list {
		texts[i] = fmt.Sprintf("%q", text)
	}
	return strings.Join(texts, " ")
}

func orNone(names []string) []string {
	if len(names) == 0 {
		return []string{""}
	}
	return names
}
