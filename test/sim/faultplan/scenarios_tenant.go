package faultplan

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// capsuleTenant makes rules and quotas in the namespaces of a tenant, and merges an
// annotation into these. Owners are in no namespace.
func capsuleTenant() (*Scenario, error) {
	s, err := load("capsule-tenant")
	if err != nil {
		return nil, err
	}
	if err := s.addVersions(withoutLimits, orderedTenant); err != nil {
		return nil, err
	}
	s.seeEverywhere("tenants", "namespaces", "clusterroles")
	s.Owners = schema.GroupVersionResource{Group: "tenancy.example.com", Version: "v1alpha1", Resource: "tenants"}
	s.ClusterScoped = true
	s.Namespaces = []string{"one", "two", "three"}
	for i, tenant := range []string{"a", "a", "b"} {
		s.Objects = append(s.Objects, object(`{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {tenancy.example.com/tenant: %s}}}`, s.Namespaces[i], tenant))
	}
	specs := []string{
		`{owners: [admins]}`,
		`{owners: [admins, others], nodeSelector: {pool: oil}}`,
		`{owners: [admins], nodeSelector: {pool: gas, zone: north}, limitRange: {limits: [{type: Container, default: {cpu: 200m}}]}}`,
		`{owners: [admins], namespaceQuota: 0, nodeSelector: {pool: oil}}`,
		`{owners: [admins], resourceQuota: {hard: {pods: "20"}}, networkPolicies: [{name: deny, spec: {podSelector: {}, policyTypes: [Ingress]}}]}`,
	}
	s.Variants = len(specs)
	s.Owner = func(_, name string, variant int) *unstructured.Unstructured {
		owner := object(`{apiVersion: tenancy.example.com/v1alpha1, kind: Tenant, metadata: {name: %s}, spec: %s}`, name, specs[variant])
		if _, found, _ := unstructured.NestedString(owner.Object, "spec", "ownerRole"); !found {
			_ = unstructured.SetNestedField(owner.Object, "tenant-owner", "spec", "ownerRole")
		}
		return owner
	}
	s.Holds, s.Wide = true, true
	s.Extra = (*chooser).moveNamespace
	return s, nil
}

// seeEverywhere leaves Ambit all rights on these resources in the whole cluster, and on the
// others the right to look; the right to write these goes to the namespaces.
func (s *Scenario) seeEverywhere(resources ...string) {
	all := s.Everywhere
	s.Everywhere = nil
	isWrite := func(verb string) bool { return verb == "create" || verb == "patch" || verb == "delete" }
	for _, rule := range all {
		if name, _, _ := strings.Cut(rule.Resources[0], "/"); slices.Contains(resources, name) {
			s.Everywhere = append(s.Everywhere, rule)
			continue
		}
		look, write := rule, rule
		look.Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), isWrite)
		write.Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(verb string) bool { return !isWrite(verb) })
		s.Everywhere = append(s.Everywhere, look)
		if len(write.Verbs) > 0 {
			s.Here = append(s.Here, write)
		}
	}
	s.Here = append(s.Here, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}}) // never empty
}

// withoutLimits drops two children, one of them the last of its kind.
func withoutLimits(text string) string {
	for _, id := range []string{"    - id: limitRange\n", "    - id: nodeSelector\n"} {
		start := strings.Index(text, id)
		end := start + strings.Index(text[start:], "\n\n") + 1
		text = text[:start] + text[end:]
	}
	return text
}

// orderedTenant names a child otherwise, and orders the deletion.
func orderedTenant(text string) string {
	text = strings.Replace(text, "- id: roleBinding\n", "- id: owners\n      dependsOn: [networkPolicies]\n", 1)
	return strings.Replace(text, "  variables:\n", "  deletion: Ordered\n  variables:\n", 1)
}

// moveNamespace gives a namespace to a tenant, or to none; or writes the annotation that
// Ambit merges.
func (c *chooser) moveNamespace() Action {
	namespace := c.namespace()
	if c.IntN(5) == 0 {
		value := []string{`"pool=mine"`, `"pool=oil"`, "null"}[c.IntN(3)]
		return Action{Text: fmt.Sprintf("somebody writes the node selector %s of namespace %s", value, namespace), Do: func(w *World) {
			w.patch(namespaces, "", namespace, `{"metadata":{"annotations":{"scheduler.alpha.kubernetes.io/node-selector":`+value+`}}}`)
		}}
	}
	tenant := []string{`"a"`, `"b"`, "null"}[c.IntN(3)]
	return Action{Text: fmt.Sprintf("namespace %s goes to tenant %s", namespace, tenant), Do: func(w *World) {
		w.patch(namespaces, "", namespace, `{"metadata":{"labels":{"tenancy.example.com/tenant":`+tenant+`}}}`)
	}}
}
