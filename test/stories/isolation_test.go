package stories

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// TestDeniedIsolates: a namespace in which a watch is denied says so in the
// status of its owners, and the other namespace works.
func TestDeniedIsolates(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "denied")
	allowed := w.namespace(memcachedRights()...)
	denied := w.namespace(rightsOn("memcacheds", "memcacheds/status")...)
	w.run([]string{allowed, denied}, memcached(t))

	w.createOwner(denied, "cache", 1)
	message := w.condition(denied, "cache", v1alpha1.ConditionPermitted, "False", v1alpha1.ReasonForbidden)
	for _, part := range []string{"cannot get, list, watch, create, patch, delete deployments.apps in", "list, watch pods in", `in namespace "` + denied + `"`, "as denied"} {
		if !strings.Contains(message, part) {
			t.Errorf("message %q does not say %q", message, part)
		}
	}
	w.condition(denied, "cache", v1alpha1.ConditionReady, "False", v1alpha1.ReasonForbidden)
	w.condition(denied, "cache", v1alpha1.ConditionStalled, "True", v1alpha1.ReasonForbidden)
	w.condition(denied, "cache", "Degraded", "True", "Forbidden")

	w.createOwner(allowed, "cache", 1)
	w.condition(allowed, "cache", v1alpha1.ConditionReady, "True", "")
	w.resize(allowed, "cache", 2)
	w.deploymentHas(allowed, "cache", 2)
}

// TestOwnersDenied: a namespace in which not even the owners may be watched
// leaves the others alone.
func TestOwnersDenied(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "missing")
	allowed := w.namespace(memcachedRights()...)
	nothing := w.namespace()
	w.run([]string{nothing, allowed}, memcached(t), program(t, "missing.yaml", []byte(missingKind)))
	w.createOwner(nothing, "cache", 1)
	w.createOwner(allowed, "cache", 1)
	w.condition(allowed, "cache", v1alpha1.ConditionReady, "True", "")
	owner, err := w.owner(t.Context(), nothing, "cache")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(nil, owner.Object["status"]); diff != "" {
		t.Errorf("an owner that may not be seen has a status:\n%s", diff)
	}
}

// missingKind is a policy whose owner's kind nobody serves.
const missingKind = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: nobody}
spec:
  owner: {apiVersion: nobody.example.com/v1, kind: Nobody}
`

// TestMissingKindIsolates: a child whose kind nobody serves blocks neither the
// other children nor the other policy.
func TestMissingKindIsolates(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "missing-kind")
	namespace := w.namespace(append(memcachedRights(), configRights())...)
	w.run([]string{namespace}, program(t, "missing.yaml", read(t, "testdata/missing.yaml")))
	w.createOwner(namespace, "a", 1)
	message := w.condition(namespace, "a", v1alpha1.ConditionReady, "False", v1alpha1.ReasonKindMissing)
	if !strings.Contains(message, "Nobody") {
		t.Errorf("message %q does not name the missing kind", message)
	}
	w.configMapSays(namespace, "a", "size is 1")
	w.resize(namespace, "a", 2)
	w.configMapSays(namespace, "a", "size is 2")
}

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
