package cluster

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Namespace makes a namespace with a unique name that begins with prefix, for one test, and returns its name. It stays, with
// all that is in it, until the control plane ends: to empty one the controller manager sends some 75 requests, which were a
// quarter of those of test/e2e. It fails the test if it cannot make it.
func (c *Cluster) Namespace(ctx context.Context, t testing.TB, prefix string) string {
	t.Helper()
	wanted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-"}}
	made, err := c.typed.CoreV1().Namespaces().Create(ctx, wanted, metav1.CreateOptions{FieldManager: fieldManager})
	if err != nil {
		t.Fatalf("making a namespace %s-...: %v", prefix, err)
	}
	return made.Name
}
