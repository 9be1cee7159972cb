package sim

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
)

// ControllerManager is the user who writes what controllers write.
const ControllerManager = "system:kube-controller-manager"

// workload is a round of the controllers of Deployments, ReplicaSets, StatefulSets and Jobs,
// and of what schedules and runs Pods. Each round does one step of each: what it brings about
// is for the next one. A round at rest writes nothing. What they write is in nobody's
// managedFields.
//
// Names of Pods are the same whenever the same Pods are made: a Pod that goes is replaced by
// one of its name, as soon as that is free. An old ReplicaSet goes as soon as it is empty.
type workload struct {
	*Server
	now  time.Time
	next time.Time // when a Pod has to be looked at again; zero: never
	// owned are the objects of a kind by the uid of their controller, as of the beginning.
	pods, replicaSets map[types.UID][]*unstructured.Unstructured
}

// workLocked does a round, and returns when the next is due if nothing happens; zero: none is.
func (s *Server) workLocked() time.Time {
	if !s.options.Workloads {
		return time.Time{}
	}
	defer func() { s.handled = Change{} }()
	w := &workload{Server: s, now: time.Now()}
	w.runPods()
	w.pods, w.replicaSets = w.byController("pods"), w.byController("replicasets")
	w.each("jobs", w.syncJob)
	w.each("statefulsets", w.syncStatefulSet)
	w.each("replicasets", w.syncReplicaSet)
	w.each("deployments", w.syncDeployment)
	return w.next
}

// kind is the resource of a kind that controllers work on.
func (w *workload) kind(plural string) *resource {
	group := map[string]string{"pods": "", "jobs": "batch"}
	of, ok := group[plural]
	if !ok {
		of = "apps"
	}
	return w.resources[schema.GroupResource{Group: of, Resource: plural}]
}

// each calls sync for all objects of a kind that are not being deleted.
func (w *workload) each(plural string, sync func(*unstructured.Unstructured)) {
	r := w.kind(plural)
	for _, key := range r.sortedKeys("") {
		if obj := r.objects[key]; obj.GetDeletionTimestamp() == nil {
			sync(obj)
		}
	}
}

func (w *workload) byController(plural string) map[types.UID][]*unstructured.Unstructured {
	r, all := w.kind(plural), map[types.UID][]*unstructured.Unstructured{}
	for _, key := range r.sortedKeys("") {
		if ref := metav1.GetControllerOfNoCopy(r.objects[key]); ref != nil {
			all[ref.UID] = append(all[ref.UID], r.objects[key])
		}
	}
	return all
}

// lookAt has the next round come at a time, if nothing happens before.
func (w *workload) lookAt(at time.Time) {
	if w.next.IsZero() || at.Before(w.next) {
		w.next = at
	}
}

// call is a request of the controllers; it is what observers see.
func (w *workload) call(r *resource, obj *unstructured.Unstructured, verb, subresource string) *call {
	c := w.internalLocked(r, obj, verb)
	c.User, c.Subresource = ControllerManager, subresource
	w.handled.Request = c.Request
	return c
}

// create makes an object. What does not go now is tried again in a later round.
func (w *workload) create(plural string, obj *unstructured.Unstructured) {
	c := w.call(w.kind(plural), obj, "create", "")
	if c.admitNamespace(obj.GetName()) == nil {
		_, _ = c.storeNew(obj, intent{})
	}
}

// write stores an object in another form: next shares what it does not change with obj.
func (w *workload) write(plural string, obj, next *unstructured.Unstructured, verb, subresource string) {
	r := w.kind(plural)
	if r.objects[keyOf(obj)] != obj {
		return // it has changed in this round
	}
	w.call(r, obj, verb, subresource)
	w.commitLocked(r, obj, next)
}

// setStatus stores another status, if it is another one.
func (w *workload) setStatus(plural string, obj *unstructured.Unstructured, status map[string]any) {
	if was, _ := obj.Object["status"].(map[string]any); equality.Semantic.DeepEqual(was, status) {
		return
	}
	next := withMetadata(obj)
	next.Object["status"] = status
	w.write(plural, obj, next, "update", "status")
}

// withMetadata is the object with metadata of its own. It shares the rest.
func withMetadata(obj *unstructured.Unstructured) *unstructured.Unstructured {
	top := maps.Clone(obj.Object)
	metadata, _ := top["metadata"].(map[string]any)
	top["metadata"] = maps.Clone(metadata)
	return &unstructured.Unstructured{Object: top}
}

// remove deletes an object in the background.
func (w *workload) remove(plural string, obj *unstructured.Unstructured) {
	r := w.kind(plural)
	if obj.GetDeletionTimestamp() == nil && r.objects[keyOf(obj)] == obj {
		_ = w.call(r, obj, "delete", "").remove(obj, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)})
	}
}

// ensure returns the object of a name that an owner controls. If there is none it is made, of
// what fresh returns. Nil: there is none yet, or it is somebody else's.
func (w *workload) ensure(plural string, owner *unstructured.Unstructured, name string, fresh func() *unstructured.Unstructured) *unstructured.Unstructured {
	obj := w.kind(plural).objects[types.NamespacedName{Namespace: owner.GetNamespace(), Name: name}]
	switch {
	case obj == nil:
		made := fresh()
		made.SetName(name)
		made.SetNamespace(owner.GetNamespace())
		made.SetOwnerReferences([]metav1.OwnerReference{controllerReference(owner)})
		w.create(plural, made)
	case metav1.IsControlledBy(obj, owner):
		return obj
	case metav1.GetControllerOfNoCopy(obj) == nil && obj.GetDeletionTimestamp() == nil: // it was orphaned
		next := withMetadata(obj)
		next.SetOwnerReferences(append(obj.GetOwnerReferences(), controllerReference(owner)))
		w.write(plural, obj, next, "patch", "")
	}
	return nil
}

func controllerReference(owner *unstructured.Unstructured) metav1.OwnerReference {
	return *metav1.NewControllerRef(owner, owner.GroupVersionKind())
}

// templateOf is a copy of the template of an object's Pods.
func templateOf(owner *unstructured.Unstructured) map[string]any {
	template, _, _ := unstructured.NestedMap(owner.Object, "spec", "template")
	return template
}

// hashOf stands for a template in names and labels. It is not the one that the real
// controllers compute.
func hashOf(template map[string]any) string {
	text, err := json.Marshal(template)
	if err != nil {
		panic(fmt.Sprintf("sim: encoding a template: %v", err)) // it was stored
	}
	return sumOf(string(text))
}

func sumOf(text string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text))
	return rand.SafeEncodeString(fmt.Sprint(h.Sum32()))
}

// suffixLength is that of the names of Pods.
const suffixLength = 5

// podName is the name of the i-th Pod of an owner.
func podName(owner *unstructured.Unstructured, i int64) string {
	sum := sumOf(fmt.Sprintf("%d of %s", i, owner.GetName()))
	return owner.GetName() + "-" + sum[:min(suffixLength, len(sum))]
}

// podOf makes a Pod of its owner's template.
func podOf(owner *unstructured.Unstructured, labels map[string]string) *unstructured.Unstructured {
	template := templateOf(owner)
	metadata, _ := template["metadata"].(map[string]any)
	pod := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{}, "spec": template["spec"]}}
	for _, kept := range []string{"labels", "annotations", "finalizers"} {
		set(metadataOf(pod), kept, runtime.DeepCopyJSONValue(metadata[kept]), metadata[kept] != nil)
	}
	pod.SetGenerateName(owner.GetName() + "-")
	if len(labels) > 0 {
		all := maps.Clone(labels)
		maps.Copy(all, pod.GetLabels())
		pod.SetLabels(all)
	}
	return pod
}

// number is a whole number in an object; otherwise if it has none.
func number(obj *unstructured.Unstructured, otherwise int64, path ...string) int64 {
	if n, ok, _ := unstructured.NestedInt64(obj.Object, path...); ok {
		return n
	}
	return otherwise
}

// text is a string in an object; empty if it has none.
func text(obj *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(obj.Object, path...)
	return s
}

// withCounts adds to a status the counts that are not 0.
func withCounts(status map[string]any, counts map[string]int64) map[string]any {
	for name, n := range counts {
		set(status, name, n, n != 0)
	}
	return status
}

// isActive reports whether a Pod counts: it is not on its way out, and not over.
func isActive(pod *unstructured.Unstructured) bool {
	phase := text(pod, "status", "phase")
	return pod.GetDeletionTimestamp() == nil && phase != "Succeeded" && phase != "Failed"
}

// isReady reports whether a Pod runs and is ready.
func isReady(pod *unstructured.Unstructured) bool {
	c := conditionOf(pod, "Ready")
	return isActive(pod) && text(pod, "status", "phase") == "Running" && c["status"] == "True"
}

// isGoing reports whether an object is being deleted.
func isGoing(obj *unstructured.Unstructured) bool { return obj.GetDeletionTimestamp() != nil }

func count(objects []*unstructured.Unstructured, counts func(*unstructured.Unstructured) bool) (n int64) {
	for _, obj := range objects {
		if counts(obj) {
			n++
		}
	}
	return n
}

// conditionsOf are the conditions of an object; they are shared.
func conditionsOf(obj *unstructured.Unstructured) []any {
	status, _ := obj.Object["status"].(map[string]any)
	list, _ := status["conditions"].([]any)
	return list
}

// conditionOf is a condition of an object; nil if it has none of that type.
func conditionOf(obj *unstructured.Unstructured, name string) map[string]any {
	for _, c := range conditionsOf(obj) {
		if condition, ok := c.(map[string]any); ok && condition["type"] == name {
			return condition
		}
	}
	return nil
}

// withCondition puts a condition into a list in the place of one of its type, unless that
// says the same. The list is not changed.
func withCondition(conditions []any, c map[string]any) []any {
	i := slices.IndexFunc(conditions, func(other any) bool { return other.(map[string]any)["type"] == c["type"] })
	if i < 0 {
		return append(slices.Clone(conditions), c)
	}
	was := conditions[i].(map[string]any)
	if was["status"] == c["status"] && was["reason"] == c["reason"] {
		return conditions
	}
	if was["status"] == c["status"] {
		c["lastTransitionTime"] = was["lastTransitionTime"]
	}
	return append(slices.Delete(slices.Clone(conditions), i, i+1), c)
}
