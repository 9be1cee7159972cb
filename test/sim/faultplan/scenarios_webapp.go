package faultplan

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

var deploymentResource = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}

// webApp makes a Deployment, then a Service, then what reads these.
func webApp() (*Scenario, error) {
	s, err := load("web-app")
	if err != nil {
		return nil, err
	}
	if err := s.addVersions(withoutIngress, orderedWebApp); err != nil {
		return nil, err
	}
	for i, rule := range s.Everywhere {
		if rule.Resources[0] == "webapps" {
			s.Everywhere[i].Verbs = append(rule.Verbs, "patch") // for the finalizer of an order
		}
	}
	s.keepEverywhere("webapps")
	s.Owners = schema.GroupVersionResource{Group: "web.example.com", Version: "v1alpha1", Resource: "webapps"}
	s.Namespaces = []string{"one", "two"}
	specs := []string{
		`{image: "web:1"}`,
		`{image: "web:2", replicas: 3, env: {LEVEL: info}}`,
		`{image: "web:1", host: shop.example.com}`,
		`{image: "web:1", host: shop.example.com, tlsSecretName: certificate, replicas: 2}`,
		`{image: "web:1", autoscaling: {minReplicas: 2, maxReplicas: 5}}`,
		`{image: "web:3", host: www.example.com, env: {A: "1", B: "2"}, autoscaling: {maxReplicas: 4, cpuPercent: 50}}`,
	}
	s.Variants = len(specs)
	s.Owner = func(namespace, name string, variant int) *unstructured.Unstructured {
		return object(`{apiVersion: web.example.com/v1alpha1, kind: WebApp, metadata: {name: %s, namespace: %s}, spec: %s}`, name, namespace, specs[variant])
	}
	s.Kept = []string{"Deployment", "Service"}
	s.Holds = true
	s.Controls, s.Control = "Deployment", rollOut
	s.Extra = (*chooser).breakDeployment
	s.Objects = append(s.Objects, object(`{apiVersion: v1, kind: Service, metadata: {name: bystander, namespace: two, labels: {bystander: "true", app.kubernetes.io/managed-by: ambit, ambit.dev/policy: %s}}, spec: {ports: [{port: 80}]}}`, s.policyLabel()))
	return s, nil
}

// withoutIngress drops a child that others read.
func withoutIngress(text string) string {
	start, end := strings.Index(text, "    - id: ingress"), strings.Index(text, "    - id: autoscaler")
	text = text[:start] + text[end:]
	return strings.Replace(text, "!has(ingress.metadata)", "true", 1)
}

// orderedWebApp gives a child another name, and an order to the deletion.
func orderedWebApp(text string) string {
	text = strings.Replace(text, "id: service", "id: front", 1)
	text = strings.ReplaceAll(text, "service.metadata", "front.metadata")
	return strings.Replace(text, "  variables:\n", "  deletion: Ordered\n  variables:\n", 1)
}

// rollOut is the Deployment controller: all Pods are there at once. It is the autoscaler as
// well: where Ambit does not say how many there are, there are two.
func rollOut(obj *unstructured.Unstructured) {
	if obj.GetDeletionTimestamp() != nil {
		return
	}
	applied := func(e metav1.ManagedFieldsEntry) bool {
		return isAmbits(e) && e.Operation == metav1.ManagedFieldsOperationApply // and not what a webhook added
	}
	if !fieldsOf(obj, applied).Has(fieldpath.MakePathOrDie("spec", "replicas")) {
		_ = unstructured.SetNestedField(obj.Object, int64(2), "spec", "replicas")
	}
	replicas, found, _ := unstructured.NestedInt64(obj.Object, "spec", "replicas")
	if !found {
		replicas = 1
	}
	setStatus(obj, map[string]any{
		"observedGeneration": obj.GetGeneration(), "replicas": replicas, "updatedReplicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas,
		"conditions": []any{map[string]any{"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable", "message": "has minimum availability"}},
	})
}

// breakDeployment takes the Pods of a Deployment away, until the controller makes others.
func (c *chooser) breakDeployment() Action {
	i := c.IntN(100)
	return Action{Text: fmt.Sprintf("Deployment %d loses its Pods", i), Do: func(w *World) {
		if all := w.list(deploymentResource); len(all) > 0 {
			one := all[i%len(all)]
			w.patch(deploymentResource, one.GetNamespace(), one.GetName(), `{"status":{"availableReplicas":0,"readyReplicas":0,"conditions":[{"type":"Available","status":"False","reason":"Gone","message":"none"}]}}`, "status")
		}
	}}
}
