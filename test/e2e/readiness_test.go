package e2e

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// oneOfEach has a child of one kind for each owner, by the owner's name, and says of none when it is ready.
// Pods are only scheduled where a node has the label story=%[1]s.
const oneOfEach = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: one-of-each}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  children:
    - id: deployment
      when: owner.metadata.name == "deployment"
      template:
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: web}
        spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {nodeSelector: {story: %[1]s}, terminationGracePeriodSeconds: 0, containers: [{name: main, image: main}]}}}
    - id: statefulset
      when: owner.metadata.name == "statefulset"
      template:
        apiVersion: apps/v1
        kind: StatefulSet
        metadata: {name: db}
        spec: {replicas: 2, serviceName: db, selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}, spec: {nodeSelector: {story: %[1]s}, terminationGracePeriodSeconds: 0, containers: [{name: main, image: main}]}}}
    - id: job
      when: owner.metadata.name == "job"
      template:
        apiVersion: batch/v1
        kind: Job
        metadata: {name: once}
        spec: {template: {spec: {restartPolicy: Never, nodeSelector: {story: %[1]s}, terminationGracePeriodSeconds: 0, containers: [{name: main, image: main}]}}}
    - id: claim
      when: owner.metadata.name == "claim"
      template:
        apiVersion: v1
        kind: PersistentVolumeClaim
        metadata: {name: data}
        spec: {accessModes: [ReadWriteOnce], storageClassName: none, resources: {requests: {storage: 1Gi}}}
    - id: definition
      when: owner.metadata.name == "definition"
      template:
        apiVersion: apiextensions.k8s.io/v1
        kind: CustomResourceDefinition
        metadata: {name: gadgets.readiness.example.com}
        spec:
          group: readiness.example.com
          names: {kind: Widget, plural: gadgets, singular: gadget}
          scope: Namespaced
          versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
    - id: custom
      when: owner.metadata.name == "custom"
      template: {apiVersion: readiness.example.com/v1, kind: Part, metadata: {name: wheel}}
`

// TestReadiness: a child of which the policy does not say when it is ready is ready when its status says
// so, as kstatus reads it. Each owner is not Ready, and names its child, before; and is Ready after.
func TestReadiness(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "readiness")
	namespace := w.namespace(
		rightsOn("memcacheds/status")[0],
		rbacv1.PolicyRule{APIGroups: []string{"cache.example.com"}, Resources: []string{"memcacheds"}, Verbs: []string{"list", "watch", "patch"}},
		rightsTo("apps", "deployments", "statefulsets"), rightsTo("batch", "jobs"), rightsTo("", "persistentvolumeclaims"), rightsTo("readiness.example.com", "parts"),
	)
	w.makeKind("readiness.example.com", "parts", "Part")
	w.makeKind("readiness.example.com", "widgets", "Widget") // whose kind is what the definition wants, too
	w.grantEverywhere("definitions", rightsTo("apiextensions.k8s.io", "customresourcedefinitions"))
	w.run([]string{namespace}, program(t, "one-of-each.yaml", fmt.Appendf(nil, oneOfEach, namespace)))

	schedule := func() {
		node := fmt.Appendf(nil, `{"metadata":{"labels":{"story":%q}}}`, namespace)
		if _, err := w.typed.CoreV1().Nodes().Patch(t.Context(), "node-0", types.MergePatchType, node, metav1.PatchOptions{}); err != nil {
			t.Fatalf("labelling a node: %v", err)
		}
	}
	setStatus := func(resource schema.GroupVersionResource, name, status string) func() {
		return func() {
			patch := fmt.Appendf(nil, `{"status":%s}`, status)
			if _, err := w.objects.Resource(resource).Namespace(namespace).Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
				t.Fatalf("writing the status of %s: %v", name, err)
			}
		}
	}
	parts := schema.GroupVersionResource{Group: "readiness.example.com", Version: "v1", Resource: "parts"}
	cases := []struct {
		owner, child string
		fails        bool   // its status says that it does not become ready by itself
		before       func() // makes the child one that is not ready, where that takes something
		complete     func() // makes it ready
	}{
		{owner: "deployment", child: `Deployment "web"`, complete: schedule},
		{owner: "statefulset", child: `StatefulSet "db"`, complete: schedule},
		{owner: "job", child: `Job "once"`, complete: schedule},
		{owner: "claim", child: `PersistentVolumeClaim "data"`, complete: setStatus(corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"), "data", `{"phase":"Bound"}`)},
		{owner: "definition", child: `CustomResourceDefinition "gadgets.readiness.example.com"`, fails: true, complete: func() { w.deleteKind("readiness.example.com", "widgets") }},
		{
			owner: "custom", child: `Part "wheel"`,
			before:   setStatus(parts, "wheel", `{"conditions":[{"type":"Ready","status":"False","reason":"Turning","message":"it turns","lastTransitionTime":"2026-01-01T00:00:00Z"}]}`),
			complete: setStatus(parts, "wheel", `{"conditions":[{"type":"Ready","status":"True","reason":"Done","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}`),
		},
	}
	for _, tc := range cases { // none is completed before all are seen not to be ready
		w.createOwner(namespace, tc.owner, 1)
		if tc.before != nil {
			w.condition(namespace, tc.owner, v1alpha1.ConditionReady, "True", "") // without conditions it is ready when it exists
			tc.before()
		}
		reason, want := v1alpha1.ReasonProgressing, "waiting for "+tc.child
		if tc.fails {
			reason, want = v1alpha1.ReasonChildFailed, tc.child+" failed: "
		}
		if message := w.condition(namespace, tc.owner, v1alpha1.ConditionReady, "False", reason); !strings.HasPrefix(message, want) {
			t.Errorf("%s says %q, want %q", tc.owner, message, want)
		}
		if !tc.fails {
			w.condition(namespace, tc.owner, v1alpha1.ConditionReconciling, "True", reason)
		}
	}
	for _, tc := range cases {
		tc.complete()
		w.condition(namespace, tc.owner, v1alpha1.ConditionReady, "True", "")
	}
	w.deleteOwner(namespace, "definition") // others share this control plane
	w.ownerGone(namespace, "definition")
}
