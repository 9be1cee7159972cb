package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/manager"
)

// TestSourceResource is the Memcached story with the policy as a custom resource.
func TestSourceResource(t *testing.T) {
	t.Parallel()
	s := newSourced(t, "source-crd", sourceRights()...)
	s.start(manager.Sources{CustomResources: true})
	s.tale(s.putResource, func() {
		message := s.policyFares("Valid", "False", v1alpha1.ReasonInvalid)
		if want := "reconcilepolicy " + s.own + "/memcached: spec.children[0].template.spec.replicas: "; !strings.HasPrefix(message, want) {
			t.Errorf("the message is %q, want %q...", message, want)
		}
		s.policyFares("Stalled", "True", v1alpha1.ReasonInvalid)
	})
	s.policyFares("Ready", "True", v1alpha1.ReasonServing)
	s.policyFares("Permitted", "True", v1alpha1.ReasonPermitted)
	s.removeResource()
	s.isGone(policies, "memcached")
	s.cleanedUp()
}

// TestSourceConfigMap is the same with a ConfigMap, and rights in one namespace only:
// nothing is asked of all namespaces, and the kind of policies is not needed.
func TestSourceConfigMap(t *testing.T) {
	t.Parallel()
	s := newSourced(t, "source-configmap", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list", "watch", "patch"}})
	s.start(manager.Sources{ConfigMaps: true})
	s.tale(s.putMap, func() { s.noted(`"reason":"Invalid"`, "memcached.yaml:29:") })
	s.noted(`{"key":"memcached.yaml","policy":"memcached","ready":true,"reason":"Serving"}`)
	s.removeMap()
	s.cleanedUp()
	s.stop()
	requests, err := s.control.Audit().Since(s.mark, s.user)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range requests {
		if r.Resource != "" && r.Namespace != s.own && !strings.HasPrefix(r.Resource, "selfsubject") {
			t.Errorf("a request outside of its namespace: %s %s: %d", r.Verb, r.URI, r.Code)
		}
		if r.Resource == policies.Resource {
			t.Errorf("custom resources are asked for: %s %s", r.Verb, r.URI)
		}
	}
}

// TestSourceFile is the same with a file of a folder. It is retired by its text.
func TestSourceFile(t *testing.T) {
	t.Parallel()
	s := newSourced(t, "source-file")
	s.start(manager.Sources{Files: []string{s.dir}})
	s.tale(s.putFile, func() { s.logs("policy is not ready", `"reason"="Invalid"`, "memcached.yaml:29:") })
	s.putFile(strings.Replace(memcachedText(s.t, s.own, 3), "\nspec:", "\nspec:\n  retire: true", 1))
	s.cleanedUp()
	s.logs("a policy is retired by spec.retire, and all is cleaned up")
	s.putFile(memcachedText(s.t, s.own, 4))
	s.versionIs(s.own, 4, 1)
}

// TestSourceRemoved is the end of a file that is removed, with the flag that says so.
func TestSourceRemoved(t *testing.T) {
	t.Parallel()
	s := newSourced(t, "source-removed")
	s.start(manager.Sources{Files: []string{s.dir}, RetireRemovedFiles: true})
	s.putFile(memcachedText(s.t, s.own, 1))
	s.createOwner(s.own, "cache", 1)
	s.ready(s.own, "cache", 1)
	s.removeFile()
	s.cleanedUp()
}

// TestSourceHalf: a file that is empty, cut, or not there stops its policy, and what it made
// stays, the same object; with its text back it goes on.
func TestSourceHalf(t *testing.T) {
	t.Parallel()
	s := newSourced(t, "source-half")
	s.start(manager.Sources{Files: []string{s.dir}})
	whole := memcachedText(t, s.own, 1)
	s.putFile(whole)
	s.createOwner(s.own, "cache", 1)
	s.ready(s.own, "cache", 1)
	before := s.deployment(s.own, "cache").UID
	file := filepath.Join(s.dir, "memcached.yaml")
	size := int64(1)
	for what, damage := range map[string]func() error{
		"empty":   func() error { return os.Truncate(file, 0) },
		"removed": func() error { return os.Remove(file) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		s.logsAgain("policy is not ready", `"reason"="TextMissing"`, "memcached.yaml")
		if after := s.deployment(s.own, "cache").UID; after != before {
			t.Errorf("%s: the Deployment was made anew", what)
		}
		s.putFile(whole)
		size = 3 - size
		s.resize(s.own, "cache", size)
		s.ready(s.own, "cache", int(size))
		if after := s.deployment(s.own, "cache").UID; after != before {
			t.Errorf("%s: the Deployment was made anew", what)
		}
	}
}

// tale takes the policy through all that may happen to it but its end. broken waits until
// it is said that it does not compile.
func (s *sourced) tale(put func(string), broken func()) {
	s.t.Helper()
	put(memcachedText(s.t, s.own, 1))
	s.createOwner(s.own, "cache", 1)
	s.versionIs(s.own, 1, 1)
	s.ready(s.own, "cache", 1)
	put(memcachedText(s.t, s.own, 2))
	s.versionIs(s.own, 2, 1)
	put(memcachedText(s.t, s.own, 0))
	broken()
	s.resize(s.own, "cache", 2) // the last good version goes on
	s.ready(s.own, "cache", 2)
	s.versionIs(s.own, 2, 1)
	put(memcachedText(s.t, s.own, 3))
	s.versionIs(s.own, 3, 1)
}

// cleanedUp waits until the policy is cleaned up after: its children are gone, its owners
// are not.
func (s *sourced) cleanedUp() {
	s.t.Helper()
	s.gone(s.own, "cache")
	if _, err := s.owner(s.t.Context(), s.own, "cache"); err != nil {
		s.t.Errorf("the owner is not there any more: %v", err)
	}
}

// noted waits until the ConfigMap's annotation has all of these.
func (s *sourced) noted(words ...string) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("the annotation says %q", words), func(ctx context.Context) error {
		object, err := s.objects.Resource(policyMaps).Namespace(s.own).Get(ctx, "policies", metav1.GetOptions{})
		if err != nil {
			return err
		}
		says := object.GetAnnotations()[v1alpha1.AnnotationStatus]
		for _, word := range words {
			if !strings.Contains(says, word) {
				return fmt.Errorf("it says %s", says)
			}
		}
		return nil
	})
}

// TestSourceTenant: a policy in another namespace acts as that namespace's own account,
// whatever Ambit itself may do.
func TestSourceTenant(t *testing.T) {
	t.Parallel()
	s := newSourced(t, "source-tenant", sourceRights()...)
	s.mayActAsDefault(s.own)
	s.start(manager.Sources{CustomResources: true, Namespace: s.namespace()})
	s.putResource(memcachedText(t, s.own, 1))
	s.createOwner(s.own, "cache", 1)
	message := s.policyFares("Ready", "False", v1alpha1.ReasonForbidden)
	if want := "system:serviceaccount:" + s.own + ":default"; !strings.Contains(message, want) {
		t.Errorf("the message does not say as whom: %s", message)
	}
	if _, err := s.typed.AppsV1().Deployments(s.own).Get(t.Context(), "cache", metav1.GetOptions{}); err == nil {
		t.Error("the policy uses the rights of Ambit itself")
	}
	s.bindDefault(s.own)
	s.ready(s.own, "cache", 1)
	s.policyFares("Ready", "True", v1alpha1.ReasonServing)
}

// bindDefault gives the namespace's default account what the policy needs.
func (s *sourced) bindDefault(namespace string) {
	s.t.Helper()
	rbac := s.typed.RbacV1()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "tenant"}, Rules: memcachedRights()}
	if _, err := rbac.Roles(namespace).Create(s.t.Context(), role, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "tenant"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "tenant"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "default"}},
	}
	if _, err := rbac.RoleBindings(namespace).Create(s.t.Context(), binding, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}
