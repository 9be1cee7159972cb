package e2e

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// rollingPolicy restarts the Pods of a Deployment whenever a Secret changes.
const rollingPolicy = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: rolling}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  children:
    - id: web
      template:
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: "${owner.metadata.name}"}
        spec:
          replicas: ${owner.spec.size}
          selector: {matchLabels: {app: "${owner.metadata.name}"}}
          template:
            metadata:
              labels: {app: "${owner.metadata.name}"}
              annotations: {secret-version: "${secret[0].metadata.resourceVersion}"}
            spec: {containers: [{name: web, image: "web:1"}]}
  watches:
    - {id: secret, apiVersion: v1, kind: Secret, name: "${owner.metadata.name}"}
`

// TestResourceVersionFollowed: a policy that reads the resourceVersion of a watched Secret rolls
// its Deployment for each change of the Secret, though it reads no other field of it.
func TestResourceVersionFollowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "followed")
	rights := append(rightsOn("memcacheds", "memcacheds/status", "deployments"),
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"list", "watch"}})
	namespace := w.namespace(rights...)
	w.decided(namespace, true, rights...)
	secrets := w.typed.CoreV1().Secrets(namespace)
	made, err := secrets.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "x"}, StringData: map[string]string{"password": "one"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.run([]string{namespace}, program(t, "rolling.yaml", []byte(rollingPolicy)))
	w.createOwner(namespace, "x", 0)
	w.rolledFor(namespace, "x", made.ResourceVersion)
	w.condition(namespace, "x", v1alpha1.ConditionReady, "True", "")
	for _, password := range []string{"two", "three", "four"} {
		changed, err := secrets.Patch(t.Context(), "x", types.MergePatchType, fmt.Appendf(nil, `{"stringData":{"password":%q}}`, password), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w.rolledFor(namespace, "x", changed.ResourceVersion)
	}
}

// rolledFor waits until the Pods of a Deployment are to be those for a version of the Secret.
func (w *world) rolledFor(namespace, name, version string) {
	w.t.Helper()
	w.eventually("the Deployment is rolled for version "+version, func(ctx context.Context) error {
		var found *appsv1.Deployment
		found, err := w.typed.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got := found.Spec.Template.Annotations["secret-version"]; got != version {
			return fmt.Errorf("it is for version %q", got)
		}
		return nil
	})
}
