package e2e

import (
	"context"
	"errors"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// timeUser is the identity of this story.
const timeUser = "time"

// shortPolicy makes a child some seconds after its owner, and deletes the owner some seconds later.
const shortPolicy = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: short, namespace: ambit-system}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  variables:
    - {name: made, expression: owner.metadata.creationTimestamp}
  children:
    - id: later
      when: reached(timestamp(made) + duration('3s'))
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${owner.metadata.name}-later"}}
  expire: reached(timestamp(made) + duration('6s'))
`

// TestTime: a child comes at its time and not before, and at the end of its own an owner is deleted with what was made for it.
func TestTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, timeUser)
	namespace := w.namespace(append(memcachedRights(), rightsTo("", "configmaps"),
		rbacv1.PolicyRule{APIGroups: []string{"cache.example.com"}, Resources: []string{"memcacheds"}, Verbs: []string{"delete"}})...)
	w.runMeasured([]string{namespace}, program(t, "short.yaml", []byte(shortPolicy)))
	made := w.createOwner(namespace, "short", 1).GetCreationTimestamp()
	w.eventually("the child comes", func(ctx context.Context) error {
		later, err := w.typed.CoreV1().ConfigMaps(namespace).Get(ctx, "short-later", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if after := later.CreationTimestamp.Sub(made.Time); after < 3*time.Second {
			t.Fatalf("it is made %s after its owner", after)
		}
		return nil
	})
	w.eventually("the owner goes", func(ctx context.Context) error {
		_, err := w.owner(ctx, namespace, "short")
		switch {
		case err == nil:
			return errors.New("it is there")
		case time.Since(made.Time) < 6*time.Second:
			t.Fatalf("it has gone %s after it was made", time.Since(made.Time))
		case apierrors.IsNotFound(err):
			return nil
		}
		return err
	})
	w.eventually("the child goes with it", func(ctx context.Context) error {
		_, err := w.typed.CoreV1().ConfigMaps(namespace).Get(ctx, "short-later", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("it is there"))
	})
}
