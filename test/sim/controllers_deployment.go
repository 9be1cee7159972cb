package sim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Labels and annotations of the controllers.
const (
	templateHash    = "pod-template-hash"
	revision        = "deployment.kubernetes.io/revision"
	desiredReplicas = "deployment.kubernetes.io/desired-replicas"
	maxReplicas     = "deployment.kubernetes.io/max-replicas"
)

// syncReplicaSet makes and deletes Pods until there are as many as there should be.
func (w *workload) syncReplicaSet(set *unstructured.Unstructured) {
	want, wanted := number(set, 1, "spec", "replicas"), map[string]bool{}
	for i := range want {
		name := podName(set, i)
		wanted[name] = true
		w.ensure("pods", set, name, func() *unstructured.Unstructured { return podOf(set, nil) })
	}
	pods := w.pods[set.GetUID()]
	for _, pod := range pods {
		if !wanted[pod.GetName()] {
			w.remove("pods", pod)
		}
	}
	active := count(pods, isActive)
	w.setStatus("replicasets", set, withCounts(
		map[string]any{"observedGeneration": set.GetGeneration(), "replicas": active, "terminatingReplicas": count(pods, isGoing)},
		map[string]int64{"fullyLabeledReplicas": active, "readyReplicas": count(pods, isReady), "availableReplicas": count(pods, isReady)}))
}

// syncDeployment has one ReplicaSet for its template, which takes over from older ones when it
// is available.
func (w *workload) syncDeployment(d *unstructured.Unstructured) {
	want := number(d, 1, "spec", "replicas")
	name := d.GetName() + "-" + hashOf(templateOf(d))
	var old []*unstructured.Unstructured
	var current *unstructured.Unstructured
	for _, set := range w.replicaSets[d.GetUID()] {
		if set.GetName() == name && !isGoing(set) {
			current = set
		} else {
			old = append(old, set)
		}
	}
	made := false
	switch {
	case current != nil:
		w.scale(current, want, d)
	case text(d, "spec", "strategy", "type") == "Recreate" && slices.ContainsFunc(old, func(set *unstructured.Unstructured) bool { return len(w.pods[set.GetUID()]) > 0 }):
		for _, set := range old {
			w.scale(set, 0, d)
		}
	default:
		w.ensure("replicasets", d, name, func() *unstructured.Unstructured { return replicaSetOf(d, want, 1+lastRevision(old)) })
		now := w.kind("replicasets").objects[keyOf(named(d, name))]
		made = now != nil && metav1.IsControlledBy(now, d)
	}
	if current != nil && number(current, 0, "status", "availableReplicas") >= want && number(current, 1, "spec", "replicas") == want {
		for _, set := range old {
			w.retire(set, d)
		}
	}
	w.tellDeployment(d, current, old, name, made)
}

// retire empties an old ReplicaSet, then deletes it.
func (w *workload) retire(set, d *unstructured.Unstructured) {
	if number(set, 1, "spec", "replicas") == 0 && len(w.pods[set.GetUID()]) == 0 {
		w.remove("replicasets", set)
		return
	}
	w.scale(set, 0, d)
}

func lastRevision(sets []*unstructured.Unstructured) (last int) {
	for _, set := range sets {
		n, _ := strconv.Atoi(set.GetAnnotations()[revision]) // it is ours
		last = max(last, n)
	}
	return last
}

// replicaSetOf makes the ReplicaSet of a Deployment's template.
func replicaSetOf(d *unstructured.Unstructured, replicas int64, number int) *unstructured.Unstructured {
	template := templateOf(d)
	hash := hashOf(template)
	inner(inner(template, "metadata"), "labels")[templateHash] = hash
	selector, _, _ := unstructured.NestedMap(d.Object, "spec", "selector")
	if selector == nil {
		selector = map[string]any{}
	}
	inner(selector, "matchLabels")[templateHash] = hash
	labels, _, _ := unstructured.NestedMap(template, "metadata", "labels")
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "ReplicaSet",
		"metadata": map[string]any{"labels": labels, "annotations": replicasNoted(d, replicas, map[string]any{revision: strconv.Itoa(number)})},
		"spec":     map[string]any{"replicas": replicas, "selector": selector, "template": template},
	}}
}

// replicasNoted adds to annotations what a Deployment notes on its ReplicaSets.
func replicasNoted(d *unstructured.Unstructured, replicas int64, annotations map[string]any) map[string]any {
	_, surge := slack(d)
	annotations[desiredReplicas] = fmt.Sprint(replicas)
	annotations[maxReplicas] = fmt.Sprint(replicas + surge)
	if replicas == 0 {
		annotations[maxReplicas] = "0"
	}
	return annotations
}

// slack is how many Pods may be missing during an update, and how many may be more.
func slack(d *unstructured.Unstructured) (unavailable, surge int64) {
	replicas := int(number(d, 1, "spec", "replicas"))
	scaled := func(name string, up bool) int64 {
		value, _, _ := unstructured.NestedFieldNoCopy(d.Object, "spec", "strategy", "rollingUpdate", name)
		parsed := intstr.Parse(fmt.Sprint(value))
		n, err := intstr.GetScaledValueFromIntOrPercent(&parsed, replicas, up)
		if err != nil {
			return 0 // there is none, with strategy Recreate
		}
		return int64(n)
	}
	unavailable, surge = scaled("maxUnavailable", false), scaled("maxSurge", true)
	if unavailable == 0 && surge == 0 {
		unavailable = 1
	}
	return unavailable, surge
}

// scale has a ReplicaSet have as many Pods.
func (w *workload) scale(set *unstructured.Unstructured, replicas int64, d *unstructured.Unstructured) {
	if number(set, 1, "spec", "replicas") == replicas || isGoing(set) {
		return
	}
	next := withMetadata(set)
	spec, _ := next.Object["spec"].(map[string]any)
	spec = maps.Clone(spec)
	spec["replicas"] = replicas
	next.Object["spec"] = spec
	annotations, _ := runtime.DeepCopyJSONValue(metadataOf(set)["annotations"]).(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
	}
	metadataOf(next)["annotations"] = replicasNoted(d, replicas, annotations)
	next.SetGeneration(set.GetGeneration() + 1)
	w.write("replicasets", set, next, "update", "")
}

// tellDeployment writes the status of a Deployment, and the revision that it is at.
func (w *workload) tellDeployment(d, current *unstructured.Unstructured, old []*unstructured.Unstructured, name string, made bool) {
	all := old
	if current != nil {
		all = append(slices.Clone(old), current)
	}
	sum := func(path ...string) (n int64) {
		for _, set := range all {
			n += number(set, 0, path...)
		}
		return n
	}
	counts := map[string]int64{
		"replicas": sum("status", "replicas"), "readyReplicas": sum("status", "readyReplicas"), "availableReplicas": sum("status", "availableReplicas"),
	}
	counts["unavailableReplicas"] = max(0, sum("spec", "replicas")-counts["availableReplicas"])
	if current != nil {
		counts["updatedReplicas"] = number(current, 0, "status", "replicas")
	}
	status := withCounts(map[string]any{"observedGeneration": d.GetGeneration(), "terminatingReplicas": sum("status", "terminatingReplicas")}, counts)
	status["conditions"] = deploymentConditions(d, counts, name, made)
	next := withMetadata(d)
	next.Object["status"] = status
	if annotations := d.GetAnnotations(); current != nil && annotations[revision] != current.GetAnnotations()[revision] {
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[revision] = current.GetAnnotations()[revision]
		next.SetAnnotations(annotations)
		w.write("deployments", d, next, "update", "status")
		return
	}
	w.setStatus("deployments", d, status)
}

// deploymentConditions are the next conditions of a Deployment. made: its ReplicaSet was made
// in this round.
func deploymentConditions(d *unstructured.Unstructured, counts map[string]int64, name string, made bool) []any {
	want := number(d, 1, "spec", "replicas")
	unavailable, _ := slack(d)
	conditions := conditionsOf(d)
	progressing, was := conditionOf(d, "Progressing"), func(count string) int64 { return number(d, 0, "status", count) }
	switch {
	case made:
		conditions = withCondition(conditions, deploymentCondition("Progressing", "True", "NewReplicaSetCreated", fmt.Sprintf("Created new replica set %q", name)))
	case counts["replicas"] == counts["updatedReplicas"] && progressing["reason"] == "NewReplicaSetAvailable":
	case counts["updatedReplicas"] == want && counts["replicas"] == want && counts["availableReplicas"] == want:
		conditions = withCondition(conditions, deploymentCondition("Progressing", "True", "NewReplicaSetAvailable", fmt.Sprintf("ReplicaSet %q has successfully progressed.", name)))
	case slices.ContainsFunc([]string{"updatedReplicas", "readyReplicas", "availableReplicas"}, func(c string) bool { return counts[c] > was(c) }):
		conditions = withCondition(conditions, deploymentCondition("Progressing", "True", "ReplicaSetUpdated", fmt.Sprintf("ReplicaSet %q is progressing.", name)))
	}
	if counts["availableReplicas"] >= want-unavailable {
		return withCondition(conditions, deploymentCondition("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability."))
	}
	return withCondition(conditions, deploymentCondition("Available", "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability."))
}

func deploymentCondition(name, status, reason, message string) map[string]any {
	c := condition(name, reason, message)
	c["status"], c["lastUpdateTime"] = status, now().Format(time.RFC3339)
	return c
}
