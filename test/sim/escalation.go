package sim

import (
	"fmt"
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
		kind := b.RoleRef
		gr := c.gr()
		gr.Resource = resource
		if kind.Kind == "" {
			return nil, true, nil
		}
		return nil, true, apierrors.NewNotFound(gr, kind.Name)
	}
	return rules, false, nil
}

func (c *call) may(verb, name string) bool {
	allowed, _ := c.authorizer.decide(c.actor(), authorizationv1.ResourceAttributes{
		Verb: verb, Group: c.Resource.Group, Resource: c.Resource.Resource, Namespace: c.Namespace, Name: name})
	return allowed
}

// uncovered are the rights in wanted that held does not have, each as a rule.
func uncovered(held []granted, wanted []rbacv1.PolicyRule) []string {
	byRule := map[string][]string{} // verbs by the rest of a rule
	var order []string
	for _, rule := range wanted {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					for _, name := range orNone(rule.ResourceNames) {
						plural, sub, _ := strings.Cut(resource, "/")
						r := authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: plural, Subresource: sub, Name: name}
						if slices.ContainsFunc(held, func(g granted) bool { return allows(g.rule, r) }) {
							continue
						}
						rest := fmt.Sprintf("{APIGroups:[%q], Resources:[%q]", group, resource)
						if name != "" {
							rest += fmt.Sprintf(", ResourceNames:[%q]", name)
						}
						if byRule[rest] == nil {
							order = append(order, rest)
						}
						if !slices.Contains(byRule[rest], verb) {
							byRule[rest] = append(byRule[rest], verb)
						}
					}
				}
			}
		}
	}
	slices.Sort(order)
	lines := make([]string, 0, len(order))
	for _, rest := range order {
		lines = append(lines, fmt.Sprintf("%s, Verbs:[%s]}", rest, quoted(byRule[rest])))
	}
	return lines
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
