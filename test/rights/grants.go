package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ownersRole and watchRole are ClusterRoles: what every way may do, and what only
// a way with watchable RBAC objects may. childrenRole is a Role in every
// namespace, bound while a way may work there.
const (
	ownersRole   = "rights-owners"
	watchRole    = "rights-watch"
	childrenRole = "rights-children"
)

// admit makes the ClusterRoles and binds them to the ways' users.
func (s *stage) admit(ctx context.Context) error {
	roles := map[string][]rbacv1.PolicyRule{
		ownersRole: {
			rule("cache.example.com", "memcacheds", "list", "watch"),
			rule("cache.example.com", "memcacheds/status", "patch"),
		},
		watchRole: {{
			APIGroups: []string{rbacv1.GroupName}, Verbs: []string{"list", "watch"},
			Resources: []string{"roles", "rolebindings", "clusterroles", "clusterrolebindings"},
		}},
	}
	for name, rules := range roles {
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
		if _, err := s.typed.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating ClusterRole %q: %w", name, err)
		}
	}
	for _, w := range ways() {
		if err := s.bindCluster(ctx, ownersRole, w.user); err != nil {
			return err
		}
		if !w.watchable {
			continue
		}
		if err := s.bindCluster(ctx, watchRole, w.user); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) bindCluster(ctx context.Context, role, user string) error {
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role + ":" + user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	if _, err := s.typed.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("binding ClusterRole %q to %q: %w", role, user, err)
	}
	return nil
}

// makeNamespace makes a namespace with a Role that nobody has yet.
func (s *stage) makeNamespace(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := s.typed.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating namespace %q: %w", name, err)
	}
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: childrenRole},
		Rules: []rbacv1.PolicyRule{
			rule("apps", "deployments", "get", "list", "watch", "create", "patch", "delete"),
			rule("", "pods", "list", "watch"),
		},
	}
	if _, err := s.typed.RbacV1().Roles(name).Create(ctx, role, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the Role of namespace %q: %w", name, err)
	}
	return nil
}

// watchesEach is how many watches Ambit has in a namespace where it may work.
const watchesEach = 2

// grant lets the user work in a namespace.
func (s *stage) grant(ctx context.Context, namespace, user string) error {
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: childrenRole},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: childrenRole},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	if _, err := s.typed.RbacV1().RoleBindings(namespace).Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("granting in namespace %q: %w", namespace, err)
	}
	return nil
}

// revoke takes it back.
func (s *stage) revoke(ctx context.Context, namespace string) error {
	if err := s.typed.RbacV1().RoleBindings(namespace).Delete(ctx, childrenRole, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("revoking in namespace %q: %w", namespace, err)
	}
	return nil
}

func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}
