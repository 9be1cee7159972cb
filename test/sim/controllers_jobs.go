package sim

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Labels of the Pods of StatefulSets.
const (
	revisionHash = "controller-revision-hash"
	podIndex     = "apps.kubernetes.io/pod-index"
	podNameLabel = "statefulset.kubernetes.io/pod-name"
)

// syncStatefulSet makes Pods one after the other, deletes them from the last one, and replaces
// those of an older template when all are ready. It makes no claims and no revisions.
func (w *workload) syncStatefulSet(set *unstructured.Unstructured) {
	want, update := number(set, 1, "spec", "replicas"), set.GetName()+"-"+hashOf(templateOf(set))
	ordered := text(set, "spec", "podManagementPolicy") != "Parallel"
	pods := map[string]*unstructured.Unstructured{}
	for _, pod := range w.pods[set.GetUID()] {
		pods[pod.GetName()] = pod
	}
	settled := true
	for i := range want {
		name := fmt.Sprintf("%s-%d", set.GetName(), i)
		w.ensure("pods", set, name, func() *unstructured.Unstructured {
			pod := podOf(set, map[string]string{revisionHash: update, podIndex: fmt.Sprint(i), podNameLabel: name})
			setNested(pod.Object, name, "spec", "hostname")
			setNested(pod.Object, text(set, "spec", "serviceName"), "spec", "subdomain")
			return pod
		})
		if pods[name] == nil || !isReady(pods[name]) {
			settled = false
			if ordered {
				break
			}
		}
	}
	if last := w.lastPod(set, pods, want, update, settled); last != nil {
		w.remove("pods", last)
	}
	w.tellStatefulSet(set, update)
}

// lastPod is the Pod of a StatefulSet to delete now: one that is too many, or one of an older
// template once all are ready; nil: none.
func (w *workload) lastPod(set *unstructured.Unstructured, pods map[string]*unstructured.Unstructured, want int64, update string, settled bool) *unstructured.Unstructured {
	for i := int64(len(pods)) + want; i >= 0; i-- {
		pod := pods[fmt.Sprintf("%s-%d", set.GetName(), i)]
		switch {
		case pod == nil:
		case i >= want:
			return pod
		case text(set, "spec", "updateStrategy", "type") == "OnDelete", i < number(set, 0, "spec", "updateStrategy", "rollingUpdate", "partition"):
			return nil
		case settled && pod.GetLabels()[revisionHash] != update:
			return pod
		}
	}
	return nil
}

func (w *workload) tellStatefulSet(set *unstructured.Unstructured, update string) {
	want, pods := number(set, 1, "spec", "replicas"), w.pods[set.GetUID()]
	of := func(revision string) int64 {
		return count(pods, func(pod *unstructured.Unstructured) bool {
			return !isGoing(pod) && pod.GetLabels()[revisionHash] == revision
		})
	}
	current, ready, updated := text(set, "status", "currentRevision"), count(pods, isReady), of(update)
	if current == "" || updated == want && ready == want && int64(len(pods)) == want {
		current = update
	}
	w.setStatus("statefulsets", set, withCounts(map[string]any{
		"observedGeneration": set.GetGeneration(), "collisionCount": int64(0), "replicas": int64(len(pods)), "availableReplicas": ready,
		"currentRevision": current, "updateRevision": update,
	}, map[string]int64{"readyReplicas": ready, "currentReplicas": of(current), "updatedReplicas": updated}))
}

// syncJob makes Pods until as many as are wanted have come to a good end, or too many have
// not. A Job that is over, or suspended, is left alone.
func (w *workload) syncJob(job *unstructured.Unstructured) {
	suspended, _, _ := unstructured.NestedBool(job.Object, "spec", "suspend")
	if suspended || conditionOf(job, "Complete") != nil || conditionOf(job, "Failed") != nil {
		return
	}
	completions, parallelism := number(job, 1, "spec", "completions"), number(job, 1, "spec", "parallelism")
	pods := w.pods[job.GetUID()]
	in := func(phase string) int64 {
		return count(pods, func(pod *unstructured.Unstructured) bool { return text(pod, "status", "phase") == phase })
	}
	active, succeeded, failed := count(pods, isActive), in("Succeeded"), in("Failed")
	status := map[string]any{
		"startTime": now().Format(time.RFC3339), "ready": count(pods, isReady), "terminating": count(pods, isGoing), "uncountedTerminatedPods": map[string]any{},
	}
	if began := text(job, "status", "startTime"); began != "" {
		status["startTime"] = began
	}
	switch {
	case succeeded >= completions:
		status["completionTime"] = now().Format(time.RFC3339)
		status["conditions"] = jobConditions("SuccessCriteriaMet", "Complete", "CompletionsReached", "Reached expected number of succeeded pods")
	case failed > number(job, 0, "spec", "backoffLimit"):
		status["conditions"] = jobConditions("FailureTarget", "Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
	default:
		active += w.makePods(job, min(parallelism, completions-succeeded)-active, completions+failed)
	}
	w.setStatus("jobs", job, withCounts(status, map[string]int64{"active": active, "succeeded": succeeded, "failed": failed}))
}

// makePods makes some Pods of a Job, with names of the first most that are free, and returns
// how many.
func (w *workload) makePods(job *unstructured.Unstructured, missing, most int64) (made int64) {
	for i := int64(0); i < most && made < missing; i++ {
		name := podName(job, i)
		if w.kind("pods").objects[keyOf(named(job, name))] == nil {
			w.ensure("pods", job, name, func() *unstructured.Unstructured { return podOf(job, nil) })
			made++
		}
	}
	return made
}

// named is an object of a name in the namespace of another one.
func named(beside *unstructured.Unstructured, name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetNamespace(beside.GetNamespace())
	obj.SetName(name)
	return obj
}

// jobConditions are those of a Job that is over.
func jobConditions(first, second, reason, message string) []any {
	conditions := []any{condition(first, reason, message), condition(second, reason, message)}
	for _, c := range conditions {
		c.(map[string]any)["lastProbeTime"] = now().Format(time.RFC3339)
	}
	return conditions
}
