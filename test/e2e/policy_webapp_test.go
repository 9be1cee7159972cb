package e2e

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/test/cluster"
)

// TestPolicyWebApp: a Deployment, then its Service; Ingress and autoscaler come and
// go with what the WebApp says; the status has the URL.
func TestPolicyWebApp(t *testing.T) {
	t.Parallel()
	s := tellPolicy(t, "web-app")
	namespace := s.namespace()
	s.apply("{apiVersion: web.example.com/v1alpha1, kind: WebApp, metadata: {name: shop, namespace: %s}, spec: {image: shop, env: {B: '2', A: '1'}}}", namespace)
	s.shows("WebApp", namespace, "shop", `
status: {url: "http://shop.%s.svc/", replicas: 1, readyReplicas: 1,
  conditions: {Ready: {status: "True"}, Available: {status: "True"}, Permitted: {status: "True"}, Stalled: null, Reconciling: null}}`, namespace)
	s.shows("Deployment", namespace, "shop", `spec: {template: {spec: {containers: [{image: shop, env: [{name: A, value: '1'}, {name: B, value: '2'}]}]}}}`)
	s.shows("Service", namespace, "shop", `spec: {ports: [{port: 80, targetPort: http}]}`)
	s.only("Ingress", namespace)
	s.only("HorizontalPodAutoscaler", namespace)

	t.Run("AHostBringsAnIngress", func(t *testing.T) {
		s := s.within(t)
		s.patch("WebApp", namespace, "shop", `{"spec":{"host":"shop.example.com","tlsSecretName":"cert"}}`)
		s.shows("Ingress", namespace, "shop", `
spec: {tls: [{hosts: [shop.example.com], secretName: cert}], rules: [{host: shop.example.com}]}`)
		s.shows("WebApp", namespace, "shop", `status: {url: "https://shop.example.com/", conditions: {Ready: {status: "True"}}}`)
	})
	t.Run("AutoscalingBringsAnAutoscaler", func(t *testing.T) {
		s := s.within(t)
		s.patch("WebApp", namespace, "shop", `{"spec":{"autoscaling":{"minReplicas":2,"maxReplicas":4}}}`)
		s.shows("HorizontalPodAutoscaler", namespace, "shop", `
spec: {minReplicas: 2, maxReplicas: 4, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: shop}}`)
		// The number of replicas is now the autoscaler's.
		s.shows("WebApp", namespace, "shop", `status: {replicas: 2, readyReplicas: 2, conditions: {Ready: {status: "True"}}}`)
	})
	t.Run("DriftIsMended", func(t *testing.T) {
		s := s.within(t)
		s.patch("Service", namespace, "shop", `{"spec":{"selector":{"app.kubernetes.io/instance":"other"}}}`)
		s.shows("Service", namespace, "shop", `spec: {selector: {app.kubernetes.io/instance: shop}}`)
		s.delete("Ingress", namespace, "shop")
		s.shows("Ingress", namespace, "shop", `spec: {rules: [{host: shop.example.com}]}`)
	})
	s.steady()
	t.Run("TheyGoAgain", func(t *testing.T) {
		s := s.within(t)
		s.patch("WebApp", namespace, "shop", `{"spec":{"host":null,"tlsSecretName":null,"autoscaling":null,"replicas":3}}`)
		s.only("Ingress", namespace)
		s.only("HorizontalPodAutoscaler", namespace)
		s.shows("WebApp", namespace, "shop", `
status: {url: "http://shop.%s.svc/", replicas: 3, readyReplicas: 3, conditions: {Ready: {status: "True"}}}`, namespace)
	})
	s.unmarked("WebApp", namespace, "shop")
	// Before the owner is deleted: that a child is gone may be seen before that is.
	var created []string
	for _, r := range s.since(s.began, func(r cluster.Request) bool { return r.Verb == "create" && !isSelfReview(r) }) {
		created = append(created, r.Resource)
	}
	created = slices.Compact(created)
	if diff := cmp.Diff([]string{"deployments", "services", "ingresses", "horizontalpodautoscalers", "ingresses"}, created); diff != "" {
		t.Errorf("what was made, in this order (-want +got):\n%s", diff)
	}
	s.delete("WebApp", namespace, "shop")
	s.absent("Deployment", namespace, "shop")
	s.ends()
}
