package main

import (
	"context"
	"fmt"
	"path/filepath"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// role is what each side may do, in all namespaces.
const role = "bench-memcached"

// admit gives each side's user its rights and its kubeconfig.
func (s *stage) admit(ctx context.Context, sides []side) error {
	if err := s.admin.Create(ctx, clusterRole()); err != nil {
		return fmt.Errorf("creating the ClusterRole: %w", err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
	}
	for _, side := range sides {
		binding.Subjects = append(binding.Subjects,
			rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: side.user()})
		if err := s.writeKubeconfig(side); err != nil {
			return err
		}
	}
	if err := s.admin.Create(ctx, binding); err != nil {
		return fmt.Errorf("creating the ClusterRoleBinding: %w", err)
	}
	return nil
}

// writeKubeconfig writes the kubeconfig of the side's user.
func (s *stage) writeKubeconfig(side side) error {
	path := filepath.Join(s.folder, side.name+".kubeconfig")
	if err := s.control.Kubeconfig(s.control.User(side.user()), path); err != nil {
		return err
	}
	s.kubeconfigs[side.name] = path
	return nil
}

// clusterRole has the rights that a Memcached operator needs, of any make.
func clusterRole() *rbacv1.ClusterRole {
	rule := func(group, resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
	}
	return &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: role},
		Rules: []rbacv1.PolicyRule{
			rule("cache.example.com", "memcacheds", "get", "list", "watch"),
			rule("cache.example.com", "memcacheds/status", "get", "patch", "update"),
			rule("cache.example.com", "memcacheds/finalizers", "update"),
			rule("apps", "deployments", "create", "delete", "get", "list", "patch", "update", "watch"),
			rule("", "pods", "list", "watch"),
		},
	}
}
