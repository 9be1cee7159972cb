package install

import (
	"context"
	"fmt"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/test/poll"
)

// patience is how long a busy machine may take for what is a matter of seconds: as long as in test/e2e, for the
// controller manager pauses for longer and longer while its cache is behind its own writes.
const patience = 3 * time.Minute

// eventually waits until check returns nil.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	var last error
	err := poll.Until(t.Context(), patience, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: not within %s: %v", what, patience, last)
	}
}

func dynamicClient(t *testing.T, config *rest.Config) dynamic.Interface {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func typedClient(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func unstruct(object map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: object}
}

// available waits until so many Pods of the Deployment ambit are available: they were
// admitted, and run.
func available(t *testing.T, namespace string, want int32) {
	t.Helper()
	deployments := typedClient(t, control.Admin()).AppsV1().Deployments(namespace)
	eventually(t, "the Pods of the Deployment are available", func() error {
		d, err := deployments.Get(t.Context(), "ambit", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if d.Status.ObservedGeneration != d.Generation || d.Status.UpdatedReplicas != want || d.Status.AvailableReplicas != want {
			return fmt.Errorf("%+v", d.Status)
		}
		return nil
	})
}

// restricted makes a namespace that enforces the restricted level of Pod Security.
func restricted(t *testing.T, prefix string) string {
	t.Helper()
	name := control.Namespace(t.Context(), t, prefix)
	label := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{"name": name, "labels": map[string]any{"pod-security.kubernetes.io/enforce": "restricted"}},
	}}
	options := metav1.ApplyOptions{FieldManager: "test-install"}
	namespaces := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	if _, err := dynamicClient(t, control.Admin()).Resource(namespaces).Apply(t.Context(), name, label, options); err != nil {
		t.Fatal(err)
	}
	return name
}

// bind gives a user a role in a namespace.
func bind(t *testing.T, namespace, user, kind, role string) {
	t.Helper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: user + "-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	if _, err := typedClient(t, control.Admin()).RbacV1().RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// allowed waits until config may make Deployments in a namespace.
func allowed(t *testing.T, config *rest.Config, namespace string) {
	t.Helper()
	awaitRight(t, config, authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "create", Group: "apps", Resource: "deployments"})
}

// awaitRight waits until the authorizer knows of a right of config.
func awaitRight(t *testing.T, config *rest.Config, what authorizationv1.ResourceAttributes) {
	t.Helper()
	eventually(t, fmt.Sprintf("%+v is permitted", what), func() error {
		if !may(t, config, what) {
			return fmt.Errorf("denied")
		}
		return nil
	})
}

// may asks whether config is permitted something now.
func may(t *testing.T, config *rest.Config, what authorizationv1.ResourceAttributes) bool {
	t.Helper()
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &what}}
	answer, err := typedClient(t, config).AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Allowed
}
