package cluster

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// TestGarbageCollection: a kind of Options.CRDs is known to the garbage
// collector from the start. If not, it takes about 40 seconds.
func TestGarbageCollection(t *testing.T) {
	t.Parallel()
	namespace, client := shared.Namespace(t.Context(), t, "collect"), typed(t, shared.Admin())
	objects, err := dynamic.NewForConfig(shared.Admin())
	if err != nil {
		t.Fatal(err)
	}
	widgets := objects.Resource(schema.GroupVersionResource{Group: "cluster.example.com", Version: "v1", Resource: "widgets"}).Namespace(namespace)
	owner, err := widgets.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cluster.example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "owner"},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name:            "child",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.GroupVersionKind())},
	}}
	if _, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), child, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := widgets.Delete(t.Context(), "owner", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventuallyWithin(t, 30*time.Second, "the child is gone", func(ctx context.Context) error {
		_, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, "child", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %v", err)
	})
}
