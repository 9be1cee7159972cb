package faultplan

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Scenarios makes all there are.
func Scenarios() (all []*Scenario, err error) {
	for _, make := range []func() (*Scenario, error){memcached, copies, jobHistory, webApp, protectedVolume, configPropagation, capsuleTenant, generated} {
		s, err := make()
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// memcached is the Memcached operator: a Deployment beside its owner, and Pods looked at.
func memcached() (*Scenario, error) {
	s, err := load("memcached")
	if err != nil {
		return nil, err
	}
	if err := s.addVersions(memcachedEdits()...); err != nil {
		return nil, err
	}
	s.Here = append(s.Here, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"services", "configmaps"}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}})
	s.Owners = schema.GroupVersionResource{Group: "cache.example.com", Version: "v1alpha1", Resource: "memcacheds"}
	s.Namespaces = []string{"one", "two"}
	s.Owner = func(namespace, name string, variant int) *unstructured.Unstructured {
		return object(`{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: %s, namespace: %s}, spec: {size: %d}}`, name, namespace, variant+1)
	}
	s.Variants = 3
	s.Kept = []string{"Deployment"}
	s.Workloads = true
	s.Objects = append(s.Objects,
		object(`{apiVersion: v1, kind: ConfigMap, metadata: {name: bystander, namespace: one, labels: {bystander: "true", app.kubernetes.io/managed-by: ambit, ambit.dev/policy: %s}}, data: {a: b}}`, s.policyLabel()),
		object(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: bystander, namespace: one, labels: {bystander: "true", app.kubernetes.io/managed-by: ambit, ambit.dev/policy: %s}},
  spec: {selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: x, image: x}]}}}}`, s.policyLabel()),
	)
	return s, nil
}

// memcachedEdits are what a user makes of the policy: a Service comes, which waits for the
// Deployment; a ConfigMap comes before the Deployment, which is changed; what was there goes
// again.
func memcachedEdits() []func(string) string {
	const service = `
    - id: service
      dependsOn: [deployment]
      template:
        apiVersion: v1
        kind: Service
        metadata: {name: "${owner.metadata.name}"}
        spec: {selector: "${labels}", ports: [{port: 11211}]}
`
	const config = `
    - id: config
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.name}-config"}
        data: {size: "${string(owner.spec.size)}"}
`
	const children = "  children:\n"
	return []func(string) string{
		func(text string) string { return strings.Replace(text, children, children+service[1:], 1) },
		func(text string) string {
			text = strings.Replace(text, children, children+config[1:], 1)
			return strings.Replace(text, "--memory-limit=64", `"--memory-limit=${config.data.size}"`, 1)
		},
	}
}
