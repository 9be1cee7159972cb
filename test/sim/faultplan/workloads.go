package faultplan

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// What the controllers of workloads make of what others made.

// workloadKinds are those whose statuses, and whose Pods, are the controllers'.
var workloadKinds = []string{"Deployment", "ReplicaSet", "StatefulSet", "Job"}

// revisionAnnotation is what the controllers write on Deployments and ReplicaSets.
const revisionAnnotation = "deployment.kubernetes.io/revision"

// isWorkload reports whether an object's status is the controllers'.
func isWorkload(obj *unstructured.Unstructured) bool {
	return slices.Contains(workloadKinds, obj.GetKind())
}

// isOfWorkload reports whether controllers made an object.
func isOfWorkload(obj *unstructured.Unstructured) bool {
	ref := metav1.GetControllerOfNoCopy(obj)
	return ref != nil && slices.Contains(workloadKinds, ref.Kind)
}

// withoutStatus is a workload without what the controllers write, and any other object as it
// is.
func withoutStatus(obj *unstructured.Unstructured) *unstructured.Unstructured {
	if !isWorkload(obj) {
		return obj
	}
	out := obj.DeepCopy()
	delete(out.Object, "status")
	unstructured.RemoveNestedField(out.Object, "metadata", "annotations", revisionAnnotation)
	return out
}
