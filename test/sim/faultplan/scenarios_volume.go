package faultplan

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/policy"
)

var podResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// protectedVolume makes a PersistentVolumeClaim, and stays with it while Pods use it.
func protectedVolume() (*Scenario, error) {
	s, err := load("protected-volume")
	if err != nil {
		return nil, err
	}
	if err := s.addVersions(unprotectedVolume, orderedVolume); err != nil {
		return nil, err
	}
	s.keepEverywhere("volumes")
	s.Here = append(s.Here, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}})
	s.Owners = schema.GroupVersionResource{Group: "storage.example.com", Version: "v1alpha1", Resource: "volumes"}
	s.Namespaces = []string{"one", "two"}
	s.Variants = 3
	s.Owner = func(namespace, name string, variant int) *unstructured.Unstructured {
		return object(`{apiVersion: storage.example.com/v1alpha1, kind: Volume, metadata: {name: %s, namespace: %s}, spec: {size: %dGi, storageClassName: fast, accessModes: [ReadWriteOnce]}}`, name, namespace, variant+1)
	}
	s.Kept = []string{"PersistentVolumeClaim"}
	s.Holds = true
	s.Controls, s.Control = "PersistentVolumeClaim", bindClaim
	s.Protected = isVolumeUsed
	s.Unprotect = func(w *World) { w.endPods(func(*unstructured.Unstructured) bool { return true }) }
	s.Extra = (*chooser).usePod
	return s, nil
}

func unprotectedVolume(text string) string {
	start, end := strings.Index(text, "  protect:\n"), strings.Index(text, "  children:\n")
	return text[:start] + text[end:]
}

// orderedVolume adds a child that goes before the claim.
func orderedVolume(text string) string {
	const note = `
    - id: note
      dependsOn: [claim]
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.name}-note"}
        data: {size: "${owner.spec.size}"}

  watches:
`
	text = strings.Replace(text, "\n  watches:\n", note, 1)
	return strings.Replace(text, "  protect:\n", "  deletion: Ordered\n  protect:\n", 1)
}

// bindClaim is what the controllers do for claims.
func bindClaim(obj *unstructured.Unstructured) {
	if obj.GetDeletionTimestamp() != nil {
		obj.SetFinalizers(slices.DeleteFunc(obj.GetFinalizers(), func(f string) bool { return f == "kubernetes.io/pvc-protection" }))
		return
	}
	size, _, _ := unstructured.NestedString(obj.Object, "spec", "resources", "requests", "storage")
	setStatus(obj, map[string]any{"phase": "Bound", "capacity": map[string]any{"storage": size}})
}

// isVolumeUsed is what the policy's protect says.
func isVolumeUsed(program *policy.Program, owner *unstructured.Unstructured, all []*unstructured.Unstructured) bool {
	return program.Protect != nil && slices.ContainsFunc(all, func(pod *unstructured.Unstructured) bool {
		phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
		volumes, _, _ := unstructured.NestedSlice(pod.Object, "spec", "volumes")
		return pod.GetKind() == "Pod" && pod.GetNamespace() == owner.GetNamespace() && phase != "Succeeded" && phase != "Failed" &&
			slices.ContainsFunc(volumes, func(v any) bool {
				claim, _, _ := unstructured.NestedString(v.(map[string]any), "persistentVolumeClaim", "claimName")
				return claim == owner.GetName()
			})
	})
}

// usePod has a Pod use the claim of an owner, or end.
func (c *chooser) usePod() Action {
	namespace, name, number := c.namespace(), c.name(), c.IntN(2)
	pod := fmt.Sprintf("uses-%s-%d", name, number)
	if c.IntN(3) > 0 {
		return Action{Text: fmt.Sprintf("create Pod %s/%s", namespace, pod), Do: func(w *World) { w.usePod(namespace, pod, name) }}
	}
	if c.IntN(2) == 0 {
		return Action{Text: fmt.Sprintf("delete Pod %s/%s", namespace, pod), Do: func(w *World) { w.delete(podResource, namespace, pod) }}
	}
	return Action{Text: fmt.Sprintf("Pod %s/%s ends", namespace, pod), Do: func(w *World) {
		w.endPods(func(p *unstructured.Unstructured) bool { return p.GetNamespace() == namespace && p.GetName() == pod })
	}}
}

// usePod makes a Pod that uses a claim.
func (w *World) usePod(namespace, pod, claim string) {
	w.create(podResource, object(`{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: %s}, spec: {containers: [{name: x, image: x}], volumes: [{name: v, persistentVolumeClaim: {claimName: %s}}]}}`, pod, namespace, claim))
}

// endPods has Pods succeed.
func (w *World) endPods(which func(*unstructured.Unstructured) bool) {
	for _, pod := range w.list(podResource) {
		if which(&pod) {
			w.patch(podResource, pod.GetNamespace(), pod.GetName(), `{"status":{"phase":"Succeeded"}}`, "status")
		}
	}
}
