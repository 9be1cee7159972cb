package faultplan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Scenarios makes all there are.
func Scenarios() (all []*Scenario, err error) {
	for _, make := range []func() (*Scenario, error){memcached} {
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
	s.Owners = schema.GroupVersionResource{Group: "cache.example.com", Version: "v1alpha1", Resource: "memcacheds"}
	s.Namespaces = []string{"one", "two"}
	s.Owner = func(namespace, name string, variant int) *unstructured.Unstructured {
		return object(`{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: %s, namespace: %s}, spec: {size: %d}}`, name, namespace, variant+1)
	}
	s.Variants = 3
	s.Kept = []string{"Deployment"}
	s.Objects = append(s.Objects,
		object(`{apiVersion: v1, kind: ConfigMap, metadata: {name: bystander, namespace: one, labels: {bystander: "true", app.kubernetes.io/managed-by: ambit, ambit.dev/policy: memcached}}, data: {a: b}}`),
		object(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: bystander, namespace: one, labels: {bystander: "true", app.kubernetes.io/managed-by: ambit, ambit.dev/policy: memcached}},
  spec: {selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: x, image: x}]}}}}`),
	)
	return s, nil
}
