package stage

import (
	"context"
	"fmt"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// role is the name of what the users may do, and of its bindings.
const role = "bench-memcached"

// Rule is the right to some verbs on a resource.
func Rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

// ChildRule is the right to all that an operator does with a kind of children.
func ChildRule(group, resource string) rbacv1.PolicyRule {
	return Rule(group, resource, "create", "delete", "get", "list", "patch", "update", "watch")
}

// MemcachedRules are the rights that a Memcached operator needs, of any make.
func MemcachedRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		Rule("cache.example.com", "memcacheds", "get", "list", "watch"),
		Rule("cache.example.com", "memcacheds/status", "get", "patch", "update"),
		Rule("cache.example.com", "memcacheds/finalizers", "update"),
		ChildRule("apps", "deployments"),
		Rule("", "pods", "list", "watch"),
	}
}

// Kubeconfig writes the kubeconfig of a user to a file and returns its path. The file goes with
// the stage.
func (s *Stage) Kubeconfig(user string) (string, error) {
	path := filepath.Join(s.folder, user+".kubeconfig")
	return path, s.control.Kubeconfig(s.control.User(user), path)
}

// admit gives the users their rights.
func (s *Stage) admit(ctx context.Context) error {
	if !s.options.ByNamespace {
		return s.createAll(ctx, s.clusterRights())
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(creators)
	for _, namespace := range s.Namespaces() {
		group.Go(func() error { return s.createAll(ctx, s.rightsIn(namespace)) })
	}
	return group.Wait()
}

// createAll makes objects in their order.
func (s *Stage) createAll(ctx context.Context, objects []client.Object) error {
	for _, object := range objects {
		if err := s.admin.Create(ctx, object); err != nil {
			return fmt.Errorf("creating %T %q: %w", object, object.GetName(), err)
		}
	}
	return nil
}

// clusterRights are the rights in all namespaces.
func (s *Stage) clusterRights() []client.Object {
	meta := metav1.ObjectMeta{Name: role}
	return []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: meta, Rules: s.options.Rules},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: meta, Subjects: s.subjects(),
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		},
	}
}

// rightsIn are the rights in one namespace.
func (s *Stage) rightsIn(namespace string) []client.Object {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: role}
	return []client.Object{
		&rbacv1.Role{ObjectMeta: meta, Rules: s.options.Rules},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, Subjects: s.subjects(),
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
		},
	}
}

// subjects are the users.
func (s *Stage) subjects() []rbacv1.Subject {
	subjects := make([]rbacv1.Subject, len(s.options.Users))
	for i, user := range s.options.Users {
		subjects[i] = rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}
	}
	return subjects
}
