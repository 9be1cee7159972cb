package sim

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// due is when the next thing happens to a Pod.
type due struct {
	phase string // in which it is, or that it goes
	at    time.Time
}

// runPods does what the scheduler and KWOK do: a Pod gets a node at once and runs
// Options.PodDelay later, a Pod of a Job is over as long after that, and one that is deleted
// goes as long after that.
func (w *workload) runPods() {
	r := w.kind("pods")
	seen := make(map[types.UID]due, len(r.objects))
	for _, key := range r.sortedKeys("") {
		pod := r.objects[key]
		phase := text(pod, "status", "phase")
		switch {
		case isGoing(pod):
			phase = "going"
		case phase == "Succeeded" || phase == "Failed" || phase == "Running" && !isOfJob(pod):
			continue
		}
		d, ok := w.due[pod.GetUID()]
		if !ok || d.phase != phase {
			d = due{phase, w.now.Add(w.options.PodDelay)}
		}
		seen[pod.GetUID()] = d
		if w.now.Before(d.at) {
			w.lookAt(d.at)
			w.schedule(pod)
			continue
		}
		w.advance(pod, phase)
	}
	w.due = seen
}

func isOfJob(pod *unstructured.Unstructured) bool {
	ref := metav1.GetControllerOfNoCopy(pod)
	return ref != nil && ref.Kind == "Job"
}

// schedule gives a Pod a node.
func (w *workload) schedule(pod *unstructured.Unstructured) {
	if isGoing(pod) || text(pod, "spec", "nodeName") != "" {
		return
	}
	next := pod.DeepCopy()
	setNested(next.Object, fmt.Sprintf("node-%d", addressOf(pod)%2), "spec", "nodeName")
	status, _ := next.Object["status"].(map[string]any)
	status["conditions"] = withCondition(conditionsOf(pod), podCondition("PodScheduled"))
	w.write("pods", pod, next, "create", "binding")
}

// advance does what is due.
func (w *workload) advance(pod *unstructured.Unstructured, phase string) {
	switch phase {
	case "going":
		if len(pod.GetFinalizers()) == 0 {
			w.write("pods", pod, nil, "delete", "")
		}
	case "Running":
		w.setStatus("pods", pod, podStatus(pod, "Succeeded"))
	default:
		w.setStatus("pods", pod, podStatus(pod, "Running"))
	}
}

func podCondition(name string) map[string]any {
	return map[string]any{"type": name, "status": "True", "lastProbeTime": nil, "lastTransitionTime": now().Format(time.RFC3339)}
}

// podStatus is what KWOK says of a Pod.
func podStatus(pod *unstructured.Unstructured, phase string) map[string]any {
	conditions := conditionsOf(pod)
	for _, name := range []string{"Initialized", "ContainersReady", "Ready"} {
		conditions = withCondition(conditions, podCondition(name))
	}
	at := now().Format(time.RFC3339)
	state := map[string]any{"running": map[string]any{"startedAt": at}}
	if phase == "Succeeded" {
		state = map[string]any{"terminated": map[string]any{"exitCode": int64(0), "finishedAt": at, "reason": "Completed", "startedAt": at}}
	}
	containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", "containers")
	statuses := make([]any, len(containers))
	for i, c := range containers {
		container, _ := c.(map[string]any)
		statuses[i] = map[string]any{
			"name": container["name"], "image": container["image"], "imageID": "", "lastState": map[string]any{}, "restartCount": int64(0),
			"ready": phase == "Running", "started": phase == "Running", "state": state,
		}
	}
	address := addressOf(pod)
	ip := fmt.Sprintf("10.128.%d.%d", address>>8&0xff, address&0xff)
	return map[string]any{
		"phase": phase, "qosClass": "BestEffort", "conditions": slices.Clone(conditions), "containerStatuses": statuses,
		"hostIP": fmt.Sprintf("10.0.0.%d", 1+address%2), "podIP": ip, "podIPs": []any{map[string]any{"ip": ip}}, "startTime": at,
	}
}

// addressOf decides about a Pod's node and address: always the same for a name.
func addressOf(pod *unstructured.Unstructured) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(pod.GetNamespace() + "/" + pod.GetName()))
	return h.Sum32()
}
