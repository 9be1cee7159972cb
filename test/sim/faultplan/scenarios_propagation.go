package faultplan

import (
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// configPropagation copies ConfigMaps into the namespaces that accept them. Owners and
// children are of one kind, and in different namespaces.
func configPropagation() (*Scenario, error) {
	s, err := load("config-propagation")
	if err != nil {
		return nil, err
	}
	err = s.addVersions(
		func(text string) string { return strings.Replace(text, "id: copies", "id: all", 1) },
		func(text string) string {
			text = strings.Replace(text, "\n  children:\n", "\n  deletion: Ordered\n  children:\n", 1)
			return strings.Replace(text, "data: ${owner.?data}", "data: {site: berlin}", 1)
		},
	)
	if err != nil {
		return nil, err
	}
	rule := func(resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: verbs}
	}
	s.Everywhere = []rbacv1.PolicyRule{rule("namespaces", "list", "watch"), rule("configmaps", "get", "list", "watch", "patch")}
	s.Here = []rbacv1.PolicyRule{rule("configmaps", "create", "delete")}
	s.Owners = configMaps
	s.Namespaces = []string{"one", "two", "three", "four"}
	s.OwnersIn = s.Namespaces[:1]
	for i, labels := range []string{"tier: web", `config-propagation.example.com/accept: "true"`, `config-propagation.example.com/accept: one, tier: web`, `config-propagation.example.com/accept: other`} {
		s.Objects = append(s.Objects, object(`{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {%s}}}`, s.Namespaces[i], labels))
	}
	targets := []string{
		`config-propagation.example.com/namespaces: "two,three,four"`,
		`config-propagation.example.com/namespaces: two`,
		`config-propagation.example.com/selector: tier=web`,
		`config-propagation.example.com/namespaces: four, config-propagation.example.com/selector: tier`,
		`other: annotation`,
	}
	s.Variants = 2 * len(targets)
	s.Owner = func(namespace, name string, variant int) *unstructured.Unstructured {
		return object(`{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: %s, annotations: {%s}}, data: {number: "%d"}}`, name, namespace, targets[variant/2], variant%2)
	}
	s.Holds, s.Wide = true, true
	s.Extra = (*chooser).relabel
	s.Objects = append(s.Objects, object(`{apiVersion: v1, kind: ConfigMap, metadata: {name: bystander, namespace: two, labels: {bystander: "true", app.kubernetes.io/managed-by: ambit, ambit.dev/policy: %s}}, data: {a: b}}`, s.policyLabel()))
	return s, nil
}

// relabel changes which namespaces accept copies, or puts something in the way of one.
func (c *chooser) relabel() Action {
	namespace := c.scenario.Namespaces[1+c.IntN(3)]
	if name := c.name(); c.IntN(4) == 0 {
		return Action{Text: fmt.Sprintf("somebody creates ConfigMap %s/%s", namespace, name), Do: func(w *World) {
			w.create(configMaps, object(`{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: %s}, data: {mine: "yes"}}`, name, namespace))
		}}
	}
	accept := []string{`"true"`, `"one"`, `"other"`, "null"}[c.IntN(4)]
	tier := []string{`"web"`, `"db"`, "null"}[c.IntN(3)]
	return Action{Text: fmt.Sprintf("namespace %s gets accept: %s, tier: %s", namespace, accept, tier), Do: func(w *World) {
		w.patch(namespaces, "", namespace, fmt.Sprintf(`{"metadata":{"labels":{"config-propagation.example.com/accept":%s,"tier":%s}}}`, accept, tier))
	}}
}
