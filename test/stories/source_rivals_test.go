package stories

import (
	"context"
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
	return []string{"source-grabbed", "source-taken-over", "source-one-name", "source-out-of-scope"}
}

// TestSourceGrabbed: a team names the namespace of another in a policy, which is first and
// goes before that of the other team in all else. Without a right there it stops nobody.
func TestSourceGrabbed(t *testing.T) {
	t.Parallel()
	s := newTenants(t, "source-grabbed", true)
	s.bindDefault(s.own)
	s.createOwner(s.own, "cache", 1)
	grab := namedText(t, "grab", s.other, 2)
	s.putResource(strings.Replace(grab, "spec:\n", "spec:\n  scope: {namespaces: ["+s.own+"]}\n", 1))
	s.resourceFares(s.other, "grab", "Ready", "False", v1alpha1.ReasonForbidden)
	s.outlive(s.other, "grab")

	s.putResource(memcachedText(t, s.own, 1))
	s.ready(s.own, "cache", 1)
	s.versionIs(s.own, 1, 1)
	s.policyFares("Ready", "True", v1alpha1.ReasonServing)
	message := s.resourceFares(s.other, "grab", "Ready", "False", v1alpha1.ReasonOwnersTaken)
	if !strings.Contains(message, "reconcilepolicy "+s.own+"/memcached") {
		t.Errorf("the message does not say who has them: %s", message)
	}
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

// outlive waits until a policy is older than any that is made from now on.
func (s *sourced) outlive(namespace, name string) {
	s.t.Helper()
	s.eventually("the policy is more than a second old", func(ctx context.Context) error {
		object, err := s.objects.Resource(policies).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		marker, err := s.typed.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "clock-"}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return err
		}
		if !marker.CreationTimestamp.After(object.GetCreationTimestamp().Time) {
			return fmt.Errorf("it is of %s", object.GetCreationTimestamp())
		}
		return nil
	})
}

// TestSourceOutOfScope: a policy for a namespace that Ambit does not look at says so, can be
// mended, and can be deleted as it is.
func TestSourceOutOfScope(t *testing.T) {
	t.Parallel()
	s := newSourced(t, "source-out-of-scope", sourceRights()...)
	s.start(manager.Sources{CustomResources: true})
	elsewhere := strings.Replace(memcachedText(t, s.own, 1), "spec:\n", "spec:\n  scope: {namespaces: [elsewhere]}\n", 1)
	s.putResource(elsewhere)
	s.createOwner(s.own, "cache", 1)
	message := s.policyFares("Ready", "False", v1alpha1.ReasonOutOfScope)
	if want := fmt.Sprintf(`in "elsewhere", and Ambit is limited to %q by --namespaces`, s.own); !strings.HasSuffix(message, want) {
		t.Errorf("the message is %q, want ...%q", message, want)
	}
	s.policyFares("Stalled", "True", v1alpha1.ReasonOutOfScope)

	s.putResource(strings.Replace(elsewhere, "[elsewhere]", "[elsewhere, "+s.own+"]", 1))
	s.ready(s.own, "cache", 1)
	s.policyFares("Ready", "True", v1alpha1.ReasonServing)

	s.putResource(elsewhere)
	s.policyFares("Ready", "False", v1alpha1.ReasonOutOfScope)
	s.removeResource()
	s.isGone(policies, "memcached")
}
