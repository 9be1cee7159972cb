package apply_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// kind is a kind of children, and what one says.
type kind struct {
	schema.GroupVersionKind
	resource   string
	namespaced bool
	// content is what the policy wants; other is what somebody else has, in other
	// fields as far as the kind has optional ones.
	content, other string
}

func (k kind) gvr() schema.GroupVersionResource {
	return k.GroupVersion().WithResource(k.resource)
}

// object makes an object of the kind.
func (k kind) object(t *testing.T, namespace, name, content string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal([]byte(content), &obj.Object); err != nil {
		t.Fatalf("content of %s: %v", k.Kind, err)
	}
	obj.SetGroupVersionKind(k.GroupVersionKind)
	obj.SetName(name)
	if k.namespaced {
		obj.SetNamespace(namespace)
	}
	return obj
}

var kinds = []kind{
	{schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "configmaps", true, "data: {ours: '1'}", "data: {theirs: '1'}"},
	{schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, "secrets", true, "data: {ours: MQ==}", "data: {theirs: MQ==}"},
	{schema.GroupVersionKind{Version: "v1", Kind: "Service"}, "services", true,
		"spec: {clusterIP: None, selector: {app: ours}}", "spec: {clusterIP: None, selector: {app: ours}, ports: [{name: theirs, port: 80}]}"},
	{schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "namespaces", false, "{}", "metadata: {annotations: {theirs: '1'}}"},
	{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, "deployments", true,
		"spec: {replicas: 1, " + workload, "spec: {paused: true, " + workload},
	{schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"}, "rolebindings", true,
		"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}\nsubjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: ours}]",
		"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}"},
	{schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}, "clusterroles", false,
		"rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]", "aggregationRule: {clusterRoleSelectors: [{matchLabels: {theirs: '1'}}]}"},
	{schema.GroupVersionKind{Group: "apply.example.com", Version: "v1", Kind: "Widget"}, "widgets", true, "spec: {ours: 1}", "spec: {theirs: 1}"},
}

const workload = "selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: a}]}}}"

const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.apply.example.com}
spec:
  group: apply.example.com
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, properties: {ours: {type: integer}, theirs: {type: integer}}}
            status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`
