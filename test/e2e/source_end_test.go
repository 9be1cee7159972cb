package e2e

import (
	"context"
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/manager"
)

// sourceEndUsers are the identities of the stories about the end of policies.
func sourceEndUsers() []string {
	return []string{"source-end", "source-end-never"}
}

// newTenants is an Ambit in a namespace of its own, and two teams in two others, where their
// policies are. Ambit may read the policies there, write how they fare, and act as the account
// default, in the first if asDefault; it may not make what they make. It sees no policy
// elsewhere: one that sees them all writes how those of other stories fare, and takes their
// finalizers off.
func newTenants(t *testing.T, user string, asDefault bool) *sourced {
	t.Helper()
	s := newSourced(t, user)
	s.own, s.other = s.namespace(sourceRights()...), s.namespace(sourceRights()...)
	s.mayActAsDefault(s.other)
	if asDefault {
		s.mayActAsDefault(s.own)
	}
	s.start(manager.Sources{CustomResources: true, Namespace: s.namespace()})
	return s
}

// mayActAsDefault lets Ambit act as the account default of a namespace.
func (s *sourced) mayActAsDefault(namespace string) {
	s.t.Helper()
	s.grantAs("default", namespace, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{"default"}, Verbs: []string{"impersonate", "list", "watch"}})
	if _, err := s.control.ServiceAccount(s.t.Context(), namespace, "default"); err != nil {
		s.t.Fatal(err)
	}
}

// TestSourceNamespaceGoes: a namespace goes with the policy in it, whatever is deleted
// first. Its Ambit sees all policies, as its rights in the namespace go as well, and so it
// runs alone.
func TestSourceNamespaceGoes(t *testing.T) {
	s := newSourced(t, "source-end")
	s.grantEverywhere("policies", sourceRights()...)
	s.own, s.other = s.namespace(), s.namespace()
	s.startIn(manager.Sources{CustomResources: true, Namespace: s.namespace()})
	for namespace, text := range map[string]string{s.own: memcachedText(t, s.own, 1), s.other: namedText(t, "memcached-two", s.other, 2)} {
		s.mayActAsDefault(namespace)
		s.bindDefault(namespace)
		s.putResource(text)
		s.createOwner(namespace, "cache", 1)
		s.ready(namespace, "cache", 1)
	}
	s.policyFares("Ready", "True", v1alpha1.ReasonServing)
	s.resourceFares(s.other, "memcached-two", "Ready", "True", v1alpha1.ReasonServing)
	if err := s.typed.RbacV1().RoleBindings(s.other).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	s.resourceFares(s.other, "memcached-two", "Ready", "False", v1alpha1.ReasonImpersonationRefused)
	for _, namespace := range []string{s.own, s.other} {
		if err := s.typed.CoreV1().Namespaces().Delete(t.Context(), namespace, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s.namespaceGone(s.own)
	s.namespaceGone(s.other)
}

// namespaceGone waits until a namespace is.
func (s *sourced) namespaceGone(namespace string) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("namespace %q is gone", namespace), func(ctx context.Context) error {
		n, err := s.typed.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %v, %v", n.Status.Conditions, err)
	})
}

// TestSourceNeverWorked: a policy that never had the rights that it takes can be deleted.
func TestSourceNeverWorked(t *testing.T) {
	t.Parallel()
	s := newTenants(t, "source-end-never", true)
	s.putResource(memcachedText(t, s.own, 1))
	s.policyFares("Ready", "False", v1alpha1.ReasonForbidden)
	s.removeResource()
	s.isGone(policies, "memcached")
}
