package cluster

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

const gadgets = `
# A kind, and an object of it in the same file.
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.cluster.example.com}
spec:
  group: cluster.example.com
  names: {kind: Gadget, plural: gadgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
---
apiVersion: cluster.example.com/v1
kind: Gadget
metadata: {name: one}
size: 3
`

// TestApply: a new kind is served when Apply has come to its first object, and
// applying again changes nothing.
func TestApply(t *testing.T) {
	t.Parallel()
	objects, err := dynamic.NewForConfig(shared.Admin())
	if err != nil {
		t.Fatal(err)
	}
	client := objects.Resource(schema.GroupVersionResource{Group: "cluster.example.com", Version: "v1", Resource: "gadgets"}).Namespace("default")
	versions := map[string]bool{}
	for range 2 {
		if err := shared.Apply(t.Context(), []byte(gadgets)); err != nil {
			t.Fatal(err)
		}
		one, err := client.Get(t.Context(), "one", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		versions[one.GetResourceVersion()] = true
	}
	if len(versions) != 1 {
		t.Errorf("resourceVersions %v, want one", versions)
	}
}

func TestApplyRefuses(t *testing.T) {
	t.Parallel()
	for reason, document := range map[string]string{
		"not YAML":        "a: [",
		"unknown kind":    "{apiVersion: nobody.example.com/v1, kind: Nothing, metadata: {name: a}}",
		"no name":         "{apiVersion: v1, kind: ConfigMap}",
		"not a valid one": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: 3}",
	} {
		if err := shared.Apply(t.Context(), []byte(document)); err == nil {
			t.Errorf("%s: no error", reason)
		}
	}
}
