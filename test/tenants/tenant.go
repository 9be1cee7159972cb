package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// tenantText is the Tenant: a bit of everything in each Namespace.
const tenantText = `
apiVersion: tenancy.example.com/v1alpha1
kind: Tenant
metadata: {name: ` + tenantName + `}
spec:
  owners: [` + tenantName + `-admins]
  namespaceQuota: 1000
  nodeSelector: {pool: ` + tenantName + `}
  resourceQuota: {hard: {pods: "2000", requests.cpu: "800", requests.memory: 1600Gi}}
  limitRange:
    limits: [{type: Container, default: {cpu: 200m, memory: 128Mi}, defaultRequest: {cpu: 100m, memory: 64Mi}}]
  networkPolicies:
    - {name: default-deny, spec: {podSelector: {}, policyTypes: [Ingress]}}
    - name: same-tenant
      spec: {podSelector: {}, ingress: [{from: [{namespaceSelector: {matchLabels: {` + tenantLabel + `: ` + tenantName + `}}}]}]}
`

// nodeSelectorKey is the annotation that the policy merges into each Namespace.
const nodeSelectorKey = "scheduler.alpha.kubernetes.io/node-selector"

func tenants() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "tenancy.example.com", Version: "v1alpha1", Resource: "tenants"}
}

func namespaces() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
}

// perNamespace are the children of each Namespace but for the annotation, with their
// number.
func perNamespace() map[schema.GroupVersionResource]int {
	return map[schema.GroupVersionResource]int{
		{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"}:      2,
		{Version: "v1", Resource: "limitranges"}:                                      1,
		{Version: "v1", Resource: "resourcequotas"}:                                   1,
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}: 1,
	}
}

// served returns nil when the Tenant says that so many Namespaces are served, and
// everything is there that they are to have.
func (s *stage) served(ctx context.Context, want int) error {
	tenant, err := s.objects.Resource(tenants()).Get(ctx, tenantName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	size, _, _ := unstructured.NestedInt64(tenant.Object, "status", "size")
	if int(size) != want || !isReady(tenant) {
		return fmt.Errorf("the status says %d namespaces, ready: %t", size, isReady(tenant))
	}
	return s.has(ctx, want)
}

// gone returns nil when neither the Tenant is there, nor anything that was made for it.
func (s *stage) gone(ctx context.Context) error {
	if _, err := s.objects.Resource(tenants()).Get(ctx, tenantName, metav1.GetOptions{}); err == nil {
		return fmt.Errorf("the Tenant is there")
	} else if !apierrors.IsNotFound(err) {
		return err
	}
	return s.has(ctx, 0)
}

// has returns nil when as much is there as so many Namespaces are to have.
func (s *stage) has(ctx context.Context, want int) error {
	list, err := s.objects.Resource(namespaces()).List(ctx, metav1.ListOptions{LabelSelector: tenantLabel + "=" + tenantName})
	if err != nil {
		return err
	}
	if got := annotated(list.Items); got != want {
		return fmt.Errorf("%d namespaces have the annotation, want %d", got, want)
	}
	for resource, each := range perNamespace() {
		list, err := s.objects.Resource(resource).List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelPolicy + "=" + v1alpha1.PolicyLabel("ambit-system", "capsule-tenant")})
		if err != nil {
			return err
		}
		if got := len(list.Items); got != each*want {
			return fmt.Errorf("there are %d %s, want %d", got, resource.Resource, each*want)
		}
	}
	return nil
}

// annotated is how many have the annotation of the policy.
func annotated(list []unstructured.Unstructured) int {
	n := 0
	for i := range list {
		if list[i].GetAnnotations()[nodeSelectorKey] != "" {
			n++
		}
	}
	return n
}

// isReady says whether the owner's status is about its generation, and Ready.
func isReady(owner *unstructured.Unstructured) bool {
	seen, _, _ := unstructured.NestedInt64(owner.Object, "status", "observedGeneration")
	list, _, _ := unstructured.NestedSlice(owner.Object, "status", "conditions")
	for _, item := range list {
		if c, ok := item.(map[string]any); ok && c["type"] == v1alpha1.ConditionReady {
			return c["status"] == "True" && seen == owner.GetGeneration()
		}
	}
	return false
}
