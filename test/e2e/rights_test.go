package e2e

import (
	"context"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// in is the same view for a subtest: what fails, fails there.
func (w *world) in(t *testing.T) *world {
	sub := *w
	sub.t = t
	return &sub
}

// rightsToWatchRBAC are those that let Ambit follow changes of rights at once.
func rightsToWatchRBAC() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		APIGroups: []string{rbacv1.GroupName}, Resources: []string{"roles", "rolebindings", "clusterroles", "clusterrolebindings"},
		Verbs: []string{"list", "watch"},
	}
}

// without returns the rules less one verb on one resource.
func without(rules []rbacv1.PolicyRule, resource, verb string) []rbacv1.PolicyRule {
	var rest []rbacv1.PolicyRule
	for _, rule := range rules {
		rule = *rule.DeepCopy()
		if slices.Contains(rule.Resources, resource) {
			rule.Verbs = slices.DeleteFunc(rule.Verbs, func(v string) bool { return v == verb })
		}
		if len(rule.Verbs) > 0 {
			rest = append(rest, rule)
		}
	}
	return rest
}

func (w *world) subjects() []rbacv1.Subject {
	return []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: w.user}}
}

// grantAs is grant for one more Role in the namespace, of another name.
func (w *world) grantAs(name, namespace string, rules ...rbacv1.PolicyRule) {
	w.t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	if _, err := w.typed.RbacV1().Roles(namespace).Create(w.t.Context(), role, metav1.CreateOptions{}); err != nil {
		w.t.Fatalf("making Role %q in %q: %v", name, namespace, err)
	}
	w.bindTo(name, "Role", namespace)
}

// bind gives the story's user the Role that grant made in a namespace, again.
func (w *world) bind(namespace string) {
	w.t.Helper()
	w.bindTo("ambit", "Role", namespace)
}

// bindTo gives the story's user a Role, or a ClusterRole, in one namespace.
func (w *world) bindTo(role, kind, namespace string) {
	w.t.Helper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role}, Subjects: w.subjects(),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role},
	}
	if _, err := w.typed.RbacV1().RoleBindings(namespace).Create(w.t.Context(), binding, metav1.CreateOptions{}); err != nil {
		w.t.Fatalf("making RoleBinding %q in %q: %v", role, namespace, err)
	}
}

// unbind takes it away.
func (w *world) unbind(namespace string) {
	w.t.Helper()
	w.unbindFrom("ambit", namespace)
}

func (w *world) unbindFrom(role, namespace string) {
	w.t.Helper()
	if err := w.typed.RbacV1().RoleBindings(namespace).Delete(w.t.Context(), role, metav1.DeleteOptions{}); err != nil {
		w.t.Fatalf("deleting RoleBinding %q in %q: %v", role, namespace, err)
	}
}

// setRules changes the rules of the Role that grant made.
func (w *world) setRules(namespace string, rules ...rbacv1.PolicyRule) {
	w.t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "ambit"}, Rules: rules}
	if _, err := w.typed.RbacV1().Roles(namespace).Update(w.t.Context(), role, metav1.UpdateOptions{}); err != nil {
		w.t.Fatalf("changing the Role in %q: %v", namespace, err)
	}
}

// grantEverywhere gives the story's user cluster-wide rights under a name, until
// revokeEverywhere or the end of the test.
func (w *world) grantEverywhere(name string, rules ...rbacv1.PolicyRule) {
	w.t.Helper()
	rbac, name := w.typed.RbacV1(), w.user+"-"+name
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	if _, err := rbac.ClusterRoles().Create(w.t.Context(), role, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		w.t.Fatalf("making ClusterRole %q: %v", name, err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: w.subjects(),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
	}
	if _, err := rbac.ClusterRoleBindings().Create(w.t.Context(), binding, metav1.CreateOptions{}); err != nil {
		w.t.Fatalf("making ClusterRoleBinding %q: %v", name, err)
	}
	w.t.Cleanup(func() {
		ctx := context.Background() // the test's own has ended
		_ = rbac.ClusterRoleBindings().Delete(ctx, name, metav1.DeleteOptions{})
		_ = rbac.ClusterRoles().Delete(ctx, name, metav1.DeleteOptions{})
	})
}

func (w *world) revokeEverywhere(name string) {
	w.t.Helper()
	if err := w.typed.RbacV1().ClusterRoleBindings().Delete(w.t.Context(), w.user+"-"+name, metav1.DeleteOptions{}); err != nil {
		w.t.Fatalf("deleting ClusterRoleBinding %q: %v", name, err)
	}
}

// decided is Decided of package cluster, for the story's user.
func (w *world) decided(namespace string, allowed bool, rules ...rbacv1.PolicyRule) {
	w.t.Helper()
	w.control.Decided(w.t.Context(), w.t, w.user, namespace, allowed, rules...)
}
