package permissions

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ambit-dev/ambit/pkg/permissions/rbac"
)

// MissingObjects returns the objects that grant what is not granted yet: ServiceAccounts that do
// not exist, then Roles with their bindings. What a Role or binding of the same name holds
// already stays in it. If that cannot be seen, they grant all that is needed, so that
// applying them takes nothing away that a policy needs. Nil: nothing is missing.
func (c *Comparison) MissingObjects(ctx context.Context) ([]runtime.Object, error) {
	found, err := c.missingAccounts(ctx)
	if err != nil {
		return nil, err
	}
	for _, g := range c.grants {
		missing, err := c.missingRole(ctx, g)
		if err != nil {
			return nil, err
		}
		found = append(found, missing...)
	}
	return found, nil
}

// missingAccounts are the ServiceAccounts that do not exist.
func (c *Comparison) missingAccounts(ctx context.Context) ([]runtime.Object, error) {
	var missing []runtime.Object
	for _, account := range rbac.ServiceAccounts(c.grants) {
		_, err := c.cluster.Typed.CoreV1().ServiceAccounts(account.Namespace).Get(ctx, account.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsForbidden(err):
			c.reporter.PrintWarning("cannot see whether ServiceAccount %s/%s is there", account.Namespace, account.Name)
		case apierrors.IsNotFound(err):
			missing = append(missing, account.ServiceAccount())
		case err != nil:
			return nil, fmt.Errorf("reading ServiceAccount %s/%s: %w", account.Namespace, account.Name, err)
		}
	}
	return missing, nil
}

// missingRole are the Role and the binding that grant what is missing of g.
func (c *Comparison) missingRole(ctx context.Context, g rbac.Grant) ([]runtime.Object, error) {
	lacking := g.LackingVerbs(c.willBeAllowed)
	if len(lacking.Rules) == 0 {
		return nil, nil
	}
	present, err := c.presentRules(ctx, g)
	switch {
	case apierrors.IsForbidden(err):
		c.reporter.PrintWarning("cannot see what Role and binding %q hold now: they are printed with all that %s needs", g.Name, shownNeeder(g))
		return g.GrantObjects(rbac.Present{}), nil
	case err != nil:
		return nil, fmt.Errorf("reading the Role and the binding %q: %w", g.Name, err)
	}
	if g.ExceedsGrant(present) {
		c.reporter.PrintWarning("Role or binding %q %s holds more than %s needs: that stays in it", g.Name, shownPlace(g.Namespace), shownNeeder(g))
	}
	return lacking.GrantObjects(present), nil
}

// presentRules returns what the Role and the binding of a grant hold already; nothing where
// they do not exist. The error is the API server's.
func (c *Comparison) presentRules(ctx context.Context, g rbac.Grant) (rbac.Present, error) {
	rules, err := c.roleRules(ctx, g)
	if err != nil && !apierrors.IsNotFound(err) {
		return rbac.Present{}, err
	}
	subjects, err := c.boundSubjects(ctx, g)
	if err != nil && !apierrors.IsNotFound(err) {
		return rbac.Present{}, err
	}
	return rbac.Present{Rules: rules, Subjects: subjects}, nil
}

func (c *Comparison) roleRules(ctx context.Context, g rbac.Grant) ([]rbacv1.PolicyRule, error) {
	if g.Namespace == rbac.Everywhere {
		role, err := c.cluster.Typed.RbacV1().ClusterRoles().Get(ctx, g.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return role.Rules, nil
	}
	role, err := c.cluster.Typed.RbacV1().Roles(g.Namespace).Get(ctx, g.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return role.Rules, nil
}

func (c *Comparison) boundSubjects(ctx context.Context, g rbac.Grant) ([]rbacv1.Subject, error) {
	if g.Namespace == rbac.Everywhere {
		binding, err := c.cluster.Typed.RbacV1().ClusterRoleBindings().Get(ctx, g.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return binding.Subjects, nil
	}
	binding, err := c.cluster.Typed.RbacV1().RoleBindings(g.Namespace).Get(ctx, g.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return binding.Subjects, nil
}

// shownPlace is the namespace of a grant in a sentence.
func shownPlace(namespace string) string {
	if namespace == rbac.Everywhere {
		return "for all namespaces"
	}
	return fmt.Sprintf("in namespace %q", namespace)
}

// shownNeeder is who needs a grant in a sentence.
func shownNeeder(g rbac.Grant) string {
	if g.Policy == "" {
		return "--watch-rbac"
	}
	return fmt.Sprintf("policy %q", g.Policy)
}
