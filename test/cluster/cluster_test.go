package cluster

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
)

// TestDeploymentRuns: controllers, scheduler and nodes work together.
func TestDeploymentRuns(t *testing.T) {
	t.Parallel()
	namespace, client := shared.Namespace(t.Context(), t, "run"), typed(t, shared.Admin())
	replicas, labels := int32(2), map[string]string{"app": "web"}
	_, err := client.AppsV1().Deployments(namespace).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					InitContainers: []corev1.Container{{Name: "init", Image: "init:1"}},
					Containers:     []corev1.Container{{Name: "web", Image: "web:1"}},
				},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Deployment is 2/2", func(ctx context.Context) error {
		d, err := client.AppsV1().Deployments(namespace).Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if d.Status.AvailableReplicas != replicas {
			return fmt.Errorf("%d available", d.Status.AvailableReplicas)
		}
		return nil
	})
	pods, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		if pod.Spec.NodeName == "" || pod.Status.PodIP == "" || pod.Status.Phase != corev1.PodRunning {
			t.Errorf("Pod %s: node %q, IP %q, phase %s", pod.Name, pod.Spec.NodeName, pod.Status.PodIP, pod.Status.Phase)
		}
	}
}

// TestUser: a user has a name and groups, and no rights but what is granted.
func TestUser(t *testing.T) {
	t.Parallel()
	namespace, alice := shared.Namespace(t.Context(), t, "user"), typed(t, shared.User("alice"))
	_, err := alice.CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `"alice"`) {
		t.Fatalf("listing without rights: %v, want that alice may not", err)
	}
	allow(t, namespace, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "devs"})
	eventually(t, "alice may list", func(ctx context.Context) error {
		_, err := alice.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{})
		return err
	})
}

// TestServiceAccount: its token is accepted, and is its own in a kubeconfig.
func TestServiceAccount(t *testing.T) {
	t.Parallel()
	namespace := shared.Namespace(t.Context(), t, "account")
	for _, reason := range []string{"it is made", "it is there already"} {
		config, err := shared.ServiceAccount(t.Context(), namespace, "robot")
		if err != nil {
			t.Fatalf("%s: %v", reason, err)
		}
		path := filepath.Join(t.TempDir(), "robot.kubeconfig")
		if err := shared.Kubeconfig(config, path); err != nil {
			t.Fatal(err)
		}
		if config, err = clientcmd.BuildConfigFromFlags("", path); err != nil {
			t.Fatal(err)
		}
		_, err = typed(t, config).CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{})
		if name := "system:serviceaccount:" + namespace + ":robot"; !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: listing without rights: %v, want that %s may not", reason, err, name)
		}
	}
}

// allow lets subject read ConfigMaps in the namespace.
func allow(t *testing.T, namespace string, subject rbacv1.Subject) {
	t.Helper()
	rbac := typed(t, shared.Admin()).RbacV1()
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list", "watch"}}},
	}
	if _, err := rbac.Roles(namespace).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"}, Subjects: []rbacv1.Subject{subject},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
	}
	if _, err := rbac.RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
