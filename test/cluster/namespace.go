package cluster

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Namespace makes a namespace with a unique name that begins with prefix, for
// one test, and returns its name. At the end of the test it asks for its
// deletion, and does not wait for that. It fails the test if it cannot.
func (c *Cluster) Namespace(ctx context.Context, t testing.TB, prefix string) string {
	t.Helper()
	namespaces := c.typed.CoreV1().Namespaces()
	wanted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-"}}
	made, err := namespaces.Create(ctx, wanted, metav1.CreateOptions{FieldManager: fieldManager})
	if err != nil {
		t.Fatalf("making a namespace %s-...: %v", prefix, err)
	}
	t.Cleanup(func() {
		// The test's own context has ended by now.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if err := namespaces.Delete(ctx, made.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("deleting namespace %q: %v", made.Name, err)
		}
	})
	return made.Name
}
