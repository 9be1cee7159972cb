package sim_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/test/sim"
)

const benchDeployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, labels: {app: web}}, spec: {replicas: 2, selector: {matchLabels: {app: web}},
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:1", ports: [{containerPort: 80}], env: [{name: A, value: "1"}]}]}}}}`

func benchObject(b *testing.B, text string) *unstructured.Unstructured {
	b.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		b.Fatal(err)
	}
	return obj
}

func benchIn(server *sim.Server, resource string) dynamic.ResourceInterface {
	return server.As(sim.Admin).Dynamic().Resource(resources()[resource]).Namespace("default")
}

func BenchmarkCreate(b *testing.B) {
	for _, kind := range []string{"configmaps", "deployments"} {
		b.Run(kind, func(b *testing.B) {
			text := `{apiVersion: v1, kind: ConfigMap, metadata: {name: one, labels: {app: web}}, data: {a: "1", b: "2"}}`
			if kind == "deployments" {
				text = benchDeployment
			}
			obj, objects := benchObject(b, text), benchIn(sim.New(sim.Options{}), kind)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				obj.SetName(fmt.Sprintf("one-%d", i))
				if _, err := objects.Create(b.Context(), obj, metav1.CreateOptions{FieldManager: "bench"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkApply(b *testing.B) {
	obj, objects := benchObject(b, benchDeployment), benchIn(sim.New(sim.Options{}), "deployments")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := unstructured.SetNestedField(obj.Object, int64(i%7), "spec", "replicas"); err != nil {
			b.Fatal(err)
		}
		if _, err := objects.Apply(b.Context(), "web", obj, metav1.ApplyOptions{FieldManager: "bench", Force: true}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGet(b *testing.B) {
	obj, objects := benchObject(b, benchDeployment), benchIn(sim.New(sim.Options{}), "deployments")
	if _, err := objects.Create(b.Context(), obj, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := objects.Get(b.Context(), "web", metav1.GetOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkServer is what a new server costs: each plan of faults has one of its own.
func BenchmarkServer(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		sim.New(sim.Options{})
	}
}
