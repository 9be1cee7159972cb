package e2e

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/policy"
)

// overlapping is a policy for the ConfigMaps with one label, which copies each to another
// namespace.
func overlapping(t *testing.T, name, there string) *policy.Program {
	t.Helper()
	return program(t, name+".yaml", fmt.Appendf(nil, `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: %[1]s}
spec:
  owner: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {%[1]s: "yes"}}}
  children:
    - id: copy
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${owner.metadata.name}-%[1]s", namespace: %[2]s}, data: {text: hello}}
`, name, there))
}

// TestOverlap: two policies select one ConfigMap, whose status cannot say anything. The second
// one says that it waits for the first, once in the log, in an Event and in the metrics, and
// takes over when the first lets go.
func TestOverlap(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "overlap")
	rights := []rbacv1.PolicyRule{rightsTo("", "configmaps"), {APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}}}
	home, there := w.namespace(), w.namespace()
	w.grantEverywhere("all", rights...) // where one review answers for all namespaces, Events are made as well
	w.decided("", true, rights...)
	l := w.launch(w.control.User(w.user), []string{home}, overlapping(t, "first", there), overlapping(t, "second", there))
	maps := w.typed.CoreV1().ConfigMaps(home)
	both := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "both", Labels: map[string]string{"first": "yes"}}}
	if _, err := maps.Create(t.Context(), both, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.configMapSays(there, "both-first", "hello")
	w.relabel(home, "both", `{"second":"yes"}`)
	w.eventually("the metrics say that an owner of the second policy is stalled", func(context.Context) error {
		stalled := l.metric("ambit_owners", map[string]string{"policy": "second", "state": "stalled"})
		if stalled != 1 {
			return fmt.Errorf("ambit_owners is %g", stalled)
		}
		return nil
	})
	w.says(l, 0, "owner is stalled", "OtherPolicy", `"policy"="second"`)
	w.eventually("an Event of the owner says it", func(ctx context.Context) error {
		list, err := w.typed.EventsV1().Events(home).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.Reason == "OtherPolicy" && e.Regarding.Kind == "ConfigMap" && e.Regarding.Name == "both" {
				return nil
			}
		}
		return fmt.Errorf("there are %d others", len(list.Items))
	})
	if _, err := w.typed.CoreV1().ConfigMaps(there).Get(t.Context(), "both-second", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the second policy does not wait: %v", err)
	}
	w.relabel(home, "both", `{"first":null}`)
	w.configMapSays(there, "both-second", "hello")
	w.says(l, 0, "owner is no longer stalled")
	w.eventually("the metrics say that it is ready", func(context.Context) error {
		if stalled := l.metric("ambit_owners", map[string]string{"policy": "second", "state": "stalled"}); stalled != 0 {
			return fmt.Errorf("%g are stalled", stalled)
		}
		return nil
	})
	if err := maps.Delete(t.Context(), "both", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.configMapGone(there, "both-second")
}

func (w *world) relabel(namespace, name, labels string) {
	w.t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"labels":%s}}`, labels)
	if _, err := w.typed.CoreV1().ConfigMaps(namespace).Patch(w.t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		w.t.Fatal(err)
	}
}
