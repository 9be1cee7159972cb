package stories

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/manager"
)

// endPatience is how long it may take until a namespace is gone: its controller looks
// again after 15 seconds or more where something is left.
const endPatience = 2 * time.Minute

// sourceEndUsers are the identities of the stories about the end of policies.
func sourceEndUsers() []string {
	return []string{"source-end", "source-end-binding", "source-end-never", "source-end-nobody", "source-end-two"}
}

// newTenant is an Ambit in a namespace of its own, and a policy in another, in which
// Ambit may act as the account default if asDefault. It has no other right there.
func newTenant(t *testing.T, user string, asDefault bool) *sourced {
	t.Helper()
	s := newSourced(t, user)
	s.own = s.namespace()
	s.wide = true
	if asDefault {
		s.mayActAsDefault(s.own)
	}
	s.grantEverywhere("policies", sourceRights()...)
	s.start(manager.Sources{CustomResources: true, Namespace: s.namespace()})
	return s
}

// mayActAsDefault lets Ambit act as the account default of a namespace.
func (s *sourced) mayActAsDefault(namespace string) {
	s.t.Helper()
	s.grant(namespace, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{"default"}, Verbs: []string{"impersonate", "list", "watch"}})
	if _, err := s.control.ServiceAccount(s.t.Context(), namespace, "default"); err != nil {
		s.t.Fatal(err)
	}
}

// TestSourceTwoTenants: two teams have a policy for one kind, which say no scope. Each
// serves the owners of its own namespace.
func TestSourceTwoTenants(t *testing.T) {
	t.Parallel()
	s := newTenant(t, "source-end-two", true)
	other := s.namespace()
	s.mayActAsDefault(other)
	s.putResource(memcachedText(t, s.own, 1))
	s.putResource(strings.Replace(memcachedText(t, other, 2), "metadata: {name: memcached,", "metadata: {name: memcached-two,", 1))
	for _, namespace := range []string{s.own, other} {
		s.bindDefault(namespace)
		s.createOwner(namespace, "cache", 1)
	}
	s.ready(s.own, "cache", 1)
	s.ready(other, "cache", 1)
	s.versionIs(s.own, 1, 1)
	s.versionIs(other, 2, 1)
	s.policyFares("Ready", "True", v1alpha1.ReasonServing)
}

// TestSourceNamespaceGoes: a namespace goes with the policy in it, whatever is deleted
// first.
func TestSourceNamespaceGoes(t *testing.T) {
	t.Parallel()
	for user, bindingFirst := range map[string]bool{"source-end": false, "source-end-binding": true} {
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			s := newTenant(t, user, true)
			s.bindDefault(s.own)
			s.putResource(memcachedText(t, s.own, 1))
			s.createOwner(s.own, "cache", 1)
			s.ready(s.own, "cache", 1)
			s.policyFares("Ready", "True", v1alpha1.ReasonServing)
			if bindingFirst {
				if err := s.typed.RbacV1().RoleBindings(s.own).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
					t.Fatal(err)
				}
				s.policyFares("Ready", "False", v1alpha1.ReasonImpersonationRefused)
			}
			if err := s.typed.CoreV1().Namespaces().Delete(t.Context(), s.own, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			s.namespaceGone()
		})
	}
}

// namespaceGone waits until the namespace is.
func (s *sourced) namespaceGone() {
	s.t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(s.t.Context(), 100*time.Millisecond, endPatience, true, func(ctx context.Context) (bool, error) {
		n, err := s.typed.CoreV1().Namespaces().Get(ctx, s.own, metav1.GetOptions{})
		if err == nil {
			last = fmt.Errorf("it is there: %v", n.Status.Conditions)
		}
		return apierrors.IsNotFound(err), nil
	})
	if err != nil {
		s.t.Fatalf("waiting until namespace %q is gone: %v", s.own, last)
	}
}

// TestSourceNeverWorked: a policy that never had the rights that it takes can be deleted.
func TestSourceNeverWorked(t *testing.T) {
	t.Parallel()
	for user, test := range map[string]struct {
		asDefault bool
		reason    string
	}{
		"source-end-never":  {true, v1alpha1.ReasonForbidden},
		"source-end-nobody": {false, v1alpha1.ReasonImpersonationRefused},
	} {
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			s := newTenant(t, user, test.asDefault)
			s.putResource(memcachedText(t, s.own, 1))
			s.policyFares("Ready", "False", test.reason)
			s.removeResource()
			s.isGone(policies, "memcached")
		})
	}
}
