package sim_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// boxPolicy keeps a Box for each owner.
const boxPolicy = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: boxes}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  children:
    - id: box
      template:
        apiVersion: kinds.example.com/v1
        kind: Box
        metadata: {name: "${owner.metadata.name}"}
        spec: {size: "${owner.spec.size}"}
`

const boxKind = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boxes.kinds.example.com}
spec:
  group: kinds.example.com
  names: {plural: boxes, singular: box, kind: Box, listKind: BoxList}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// kindBack is how long it may take from Established until the work is done again: a lookup
// every 4 s at most, and what comes after it.
const kindBack = 5 * time.Second

// TestKindComesAndGoes: the kind of a child is deleted, with all its objects, and made
// again, 20 times, each time after another pause. The work resumes within seconds.
func TestKindComesAndGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		boxes := schema.GroupVersionResource{Group: "kinds.example.com", Version: "v1", Resource: "boxes"}
		s := newStage(t, true)
		s.grantEverywhere("boxes", "[{apiGroups: [kinds.example.com], resources: [boxes], verbs: [get, list, watch, create, patch, delete]}]")
		s.create("crds", "", boxKind)
		s.runWith(programs(t, boxPolicy))
		isBoxed := func(size int) func() bool {
			return func() bool {
				box := s.read(boxes, "one", "cache")
				return box != nil && fmt.Sprint(box.Object["spec"]) == fmt.Sprintf("map[size:%d]", size)
			}
		}
		s.owner("one", 1)
		s.until("the Box is made", isBoxed(1))
		for i := range 20 {
			s.delete("crds", "", "boxes.kinds.example.com")
			s.until("the kind is gone", func() bool { return s.read(resources()["crds"], "", "boxes.kinds.example.com") == nil })
			s.resize("one", 2+i)
			time.Sleep(time.Duration(i) * 700 * time.Millisecond)
			s.create("crds", "", boxKind)
			established := time.Now()
			s.until("the Box is as wanted", isBoxed(2+i))
			took := time.Since(established)
			t.Logf("the work was done after %s", took)
			if took > kindBack {
				t.Errorf("time %d: %s from Established until the work was done, want at most %s", i+1, took, kindBack)
			}
		}
		s.stop()
	})
}
