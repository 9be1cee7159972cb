package install

import (
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

var (
	memcacheds      = schema.GroupVersionResource{Group: "cache.example.com", Version: "v1alpha1", Resource: "memcacheds"}
	deployments     = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	replicaSets     = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}
	pods            = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	configMaps      = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	serviceAccounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	policies        = schema.GroupVersionResource{Group: "ambit.dev", Version: "v1alpha1", Resource: "reconcilepolicies"}

	clusterRoleBindings = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}
	admissionBindings   = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"}
)

// create makes an object as administrator.
func create(t *testing.T, of schema.GroupVersionResource, object map[string]any) {
	t.Helper()
	createAs(t, control.Admin(), of, object)
}

func createAs(t *testing.T, config *rest.Config, of schema.GroupVersionResource, object map[string]any) {
	t.Helper()
	made := unstruct(object)
	if _, err := dynamicClient(t, config).Resource(of).Namespace(made.GetNamespace()).Create(t.Context(), made, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, of schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	t.Helper()
	return dynamicClient(t, control.Admin()).Resource(of).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
}

// remove deletes an object as administrator.
func remove(t *testing.T, of schema.GroupVersionResource, namespace, name string) {
	t.Helper()
	removeAs(t, control.Admin(), of, namespace, name)
}

// removeAs deletes an object, if it is there, and waits until it is gone: no finalizer
// holds it.
func removeAs(t *testing.T, config *rest.Config, of schema.GroupVersionResource, namespace, name string) {
	t.Helper()
	client := dynamicClient(t, config).Resource(of).Namespace(namespace)
	if err := client.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	eventually(t, of.Resource+" "+name+" is gone", func() error {
		if _, err := get(t, of, namespace, name); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %v", err)
		}
		return nil
	})
}

// conditionOf is a condition of an object, nil if it has none of that type.
func conditionOf(object *unstructured.Unstructured, kind string) map[string]any {
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, item := range list {
		if c, is := item.(map[string]any); is && c["type"] == kind {
			return c
		}
	}
	return nil
}

// awaitCondition waits for the status of a condition.
func awaitCondition(t *testing.T, of schema.GroupVersionResource, namespace, name, kind, want string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s %s/%s: %s is %s", of.Resource, namespace, name, kind, want), func() error {
		found, err := get(t, of, namespace, name)
		if err != nil {
			return err
		}
		if c := conditionOf(found, kind); c == nil || c["status"] != want {
			return fmt.Errorf("%v", found.Object["status"])
		}
		return nil
	})
}
