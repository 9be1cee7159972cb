package e2e

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/manager"
)

// sourceRivalUsers are the identities of the stories about policies that want the same.
func sourceRivalUsers() []string {
	return []string{"source-taken-over", "source-one-name"}
}

// rivalText is a policy that makes ConfigMaps of its name for each Memcached: one of the
// owner's name, which its rival wants as well, and two others, of which one outlives it.
func rivalText(name, namespace, more string) string {
	return fmt.Sprintf(`
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: %[1]s, namespace: %[2]s}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
%[3]s
  children:
    - id: common
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${owner.metadata.name}"}, data: {text: %[1]s}}
    - id: mine
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${owner.metadata.name}-%[1]s"}, data: {text: %[1]s}}
    - id: kept
      onDelete: Orphan
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${owner.metadata.name}-%[1]s-kept"}, data: {text: %[1]s}}
`, name, namespace, more)
}

// TestSourceTakenOver: a policy loses its owners to another, and is deleted then. What it has
// made goes as it says, and its finalizer with it, and the other one begins where it had to
// wait.
func TestSourceTakenOver(t *testing.T) {
	t.Parallel()
	s := newSourced(t, "source-taken-over", append(sourceRights(), append(homeRights(), rightsTo("", "configmaps"))...)...)
	s.start(manager.Sources{Files: []string{s.dir}, CustomResources: true})
	s.putResource(rivalText("memcached", s.own, "  deletion: Ordered"))
	s.createOwner(s.own, "x", 1)
	s.condition(s.own, "x", v1alpha1.ConditionReady, "True", v1alpha1.ReasonReady)
	s.policyFares("Ready", "True", v1alpha1.ReasonServing)
	s.configMapSays(s.own, "x", "memcached")

	s.putFile(rivalText("rival", s.own, ""))
	s.policyFares("Ready", "False", v1alpha1.ReasonOwnersTaken)
	s.condition(s.own, "x", v1alpha1.ConditionReady, "False", v1alpha1.ReasonOtherPolicy)
	s.configMapSays(s.own, "x", "memcached")
	s.configMapSays(s.own, "x-memcached", "memcached")

	s.removeResource()
	s.isGone(policies, "memcached")
	if _, err := s.configMap("x-memcached"); !apierrors.IsNotFound(err) {
		t.Errorf("the policy is gone before what it has made: %v", err)
	}
	kept, err := s.configMap("x-memcached-kept")
	if err != nil || len(kept.OwnerReferences) > 0 {
		t.Errorf("what is to outlive the policy has not, or goes with the owner: %v, %v", err, kept)
	}
	s.condition(s.own, "x", v1alpha1.ConditionReady, "True", v1alpha1.ReasonReady)
	for _, name := range []string{"x", "x-rival", "x-rival-kept"} {
		s.configMapSays(s.own, name, "rival")
	}
	owner, err := s.owner(t.Context(), s.own, "x")
	if err != nil || len(owner.GetFinalizers()) > 0 || strings.Contains(owner.GetAnnotations()[v1alpha1.AnnotationChildren], "x-memcached") {
		t.Errorf("%v; finalizers %v, annotations %v", err, owner.GetFinalizers(), owner.GetAnnotations())
	}
}

// configMap returns one of the story's namespace.
func (s *sourced) configMap(name string) (*corev1.ConfigMap, error) {
	return s.typed.CoreV1().ConfigMaps(s.own).Get(s.t.Context(), name, metav1.GetOptions{})
}

// TestSourceOneName: two teams have policies of one name, which live side by side: what is made says
// whose it is, and when one policy is deleted, it is cleaned up after and the other one goes on.
func TestSourceOneName(t *testing.T) {
	t.Parallel()
	s := newTenants(t, "source-one-name", true)
	var uids []types.UID
	for i, namespace := range []string{s.own, s.other} {
		s.bindDefault(namespace)
		s.putResource(memcachedText(t, namespace, i+1))
		s.createOwner(namespace, "cache", 1)
		s.ready(namespace, "cache", 1)
		made := s.deployment(namespace, "cache")
		if want := v1alpha1.PolicyLabel(namespace, "memcached"); made.Labels[v1alpha1.LabelPolicy] != want {
			t.Errorf("the Deployment in %s is of policy %q, want %q", namespace, made.Labels[v1alpha1.LabelPolicy], want)
		}
		uids = append(uids, made.UID)
	}
	s.removeResource()
	s.isGone(policies, "memcached")
	if _, err := s.typed.AppsV1().Deployments(s.own).Get(t.Context(), "cache", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the policy is gone before what it has made: %v", err)
	}
	s.resourceFares(s.other, "memcached", "Ready", "True", v1alpha1.ReasonServing)
	s.resize(s.other, "cache", 2)
	s.ready(s.other, "cache", 2)
	if after := s.deployment(s.other, "cache").UID; after != uids[1] {
		t.Error("the Deployment of the other policy was made anew")
	}
}
