package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// TestGraph: children come in the order of what they read; one whose name
// changes leaves nothing behind; one that is switched off goes and comes back.
func TestGraph(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "graph")
	namespace := w.namespace(append(memcachedRights(), configRights())...)
	w.run([]string{namespace}, program(t, "graph.yaml", read(t, "testdata/graph.yaml")))
	w.createOwner(namespace, "a", 1)
	w.configMapSays(namespace, "a", "service is a-1")
	w.resize(namespace, "a", 2)
	w.configMapSays(namespace, "a", "service is a-2")
	w.servicesAre(namespace, "a-2")
	w.resize(namespace, "a", 0)
	w.configMapGone(namespace, "a")
	w.servicesAre(namespace)
	w.resize(namespace, "a", 3)
	w.configMapSays(namespace, "a", "service is a-3")
	w.condition(namespace, "a", v1alpha1.ConditionReady, "True", "")
}

func configRights() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"configmaps", "services"},
		Verbs: []string{"create", "delete", "get", "list", "patch", "watch"},
	}
}

func (w *world) configMapSays(namespace, name, want string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("ConfigMap %s/%s says %q", namespace, name, want), func(ctx context.Context) error {
		config, err := w.typed.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if config.Data["text"] != want {
			return fmt.Errorf("it says %q", config.Data["text"])
		}
		return nil
	})
}

func (w *world) configMapGone(namespace, name string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("ConfigMap %s/%s is gone", namespace, name), func(ctx context.Context) error {
		if _, err := w.typed.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %v", err)
		}
		return nil
	})
}

func (w *world) servicesAre(namespace string, want ...string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("the Services are %v", want), func(ctx context.Context) error {
		services, err := w.typed.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		var names []string
		for _, service := range services.Items {
			names = append(names, service.Name)
		}
		if diff := cmp.Diff(want, names); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
}

func rightsOn(resources ...string) []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for _, rule := range memcachedRights() {
		for _, resource := range resources {
			if rule.Resources[0] == resource {
				rules = append(rules, rule)
			}
		}
	}
	return rules
}
