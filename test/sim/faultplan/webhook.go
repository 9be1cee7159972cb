package faultplan

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/test/sim"
)

// webhook is one that looks at what is written, from when it is registered.
type webhook struct {
	matches func(*sim.Review) bool
	admit   func(*sim.Review) error
	left    int       // how often it is asked still; 0: any number of times
	until   time.Time // zero: to the end of the plan
}

// register has a webhook asked from now on.
func (w *World) register(h webhook) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.webhooks = append(w.webhooks, &h)
}

// admit asks the webhooks, in the order in which they were registered. It is called with a
// lock of the server held.
func (w *World) admit(r *sim.Review) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.webhooks = slices.DeleteFunc(w.webhooks, func(h *webhook) bool { return !h.until.IsZero() && now.After(h.until) })
	for _, h := range slices.Clone(w.webhooks) {
		if !h.matches(r) {
			continue
		}
		if h.left--; h.left == 0 {
			w.webhooks = slices.DeleteFunc(w.webhooks, func(other *webhook) bool { return other == h })
		}
		if err := h.admit(r); err != nil {
			return err
		}
	}
	return nil
}

// What webhooks leave in objects, by which it is found again.
const (
	hookName     = "hook.example.com"
	hookKey      = "hook.example.com/was-here" // of annotations, and a finalizer
	hookText     = "changed by a webhook"
	hookReplicas = int64(9)
)

// changes are what webhooks make of children.
func changes() []change {
	return []change{
		{"takes the labels of Ambit off", stripLabels},
		{"annotates", func(obj *unstructured.Unstructured) { setNested(obj, "yes", "metadata", "annotations", hookKey) }},
		{"adds a sidecar", addSidecar},
		{"changes values", changeValues},
	}
}

// change is what a webhook makes of a child.
type change struct {
	text string
	do   func(*unstructured.Unstructured)
}

func stripLabels(obj *unstructured.Unstructured) {
	labels := obj.GetLabels()
	for key := range labels {
		if v1alpha1.IsReservedKey(key) || key == v1alpha1.LabelManagedBy {
			delete(labels, key)
		}
	}
	obj.SetLabels(labels)
}

// addSidecar adds a container to a template of Pods.
func addSidecar(obj *unstructured.Unstructured) {
	containers, ok, _ := unstructured.NestedSlice(obj.Object, "spec", "template", "spec", "containers")
	if !ok || slices.ContainsFunc(containers, isSidecar) {
		return
	}
	setNested(obj, append(containers, map[string]any{"name": hookName[:4], "image": "sidecar:1"}), "spec", "template", "spec", "containers")
}

func isSidecar(container any) bool {
	c, _ := container.(map[string]any)
	return c["image"] == "sidecar:1"
}

// changeValues changes what Ambit wants to have another value: how many replicas there are,
// and the texts of a ConfigMap.
func changeValues(obj *unstructured.Unstructured) { replaceValues(obj, hookReplicas, hookText) }

func replaceValues(obj *unstructured.Unstructured, replicas int64, text string) {
	if _, ok, _ := unstructured.NestedInt64(obj.Object, "spec", "replicas"); ok {
		setNested(obj, replicas, "spec", "replicas")
	}
	data, _ := obj.Object["data"].(map[string]any)
	for key := range data {
		if obj.GetKind() == "ConfigMap" {
			data[key] = text
		}
	}
}

func setNested(obj *unstructured.Unstructured, value any, path ...string) {
	// It fails where something of another type is in the way, which is nowhere.
	_ = unstructured.SetNestedField(obj.Object, value, path...)
}

// putRight is what somebody does who has removed the webhooks: what they added goes, for it is
// nobody's. What they changed is changed once more: Ambit, which has seen that its own value
// does not stand and left it at that, puts its own there when it sees that.
func (w *World) putRight() {
	for _, obj := range w.server.Objects() {
		if !restore(obj.DeepCopy()) {
			continue
		}
		resource, err := resourceOf(w.server.As(sim.Admin), obj)
		if err != nil {
			w.problem("%v", err)
			continue
		}
		w.change(resource, obj.GetNamespace(), obj.GetName(), restore)
	}
}

// change changes an object as it is, whoever else writes it.
func (w *World) change(resource schema.GroupVersionResource, namespace, name string, do func(*unstructured.Unstructured) bool) {
	for {
		obj := w.read(resource, namespace, name)
		if obj == nil || !do(obj) {
			return
		}
		_, err := w.admin.Resource(resource).Namespace(namespace).Update(context.Background(), obj, updateOptions)
		if !apierrors.IsConflict(err) {
			w.checked("changing", resource.Resource, err)
			return
		}
	}
}

// restore takes out of an object what webhooks have added, and changes what they have changed.
// It reports whether there was something.
func restore(obj *unstructured.Unstructured) bool {
	before := textOf(obj)
	unstructured.RemoveNestedField(obj.Object, "metadata", "annotations", hookKey)
	obj.SetFinalizers(slices.DeleteFunc(obj.GetFinalizers(), func(f string) bool { return f == hookKey }))
	if containers, _, _ := unstructured.NestedSlice(obj.Object, "spec", "template", "spec", "containers"); slices.ContainsFunc(containers, isSidecar) {
		setNested(obj, slices.DeleteFunc(containers, isSidecar), "spec", "template", "spec", "containers")
	}
	if replicas, _, _ := unstructured.NestedInt64(obj.Object, "spec", "replicas"); replicas == hookReplicas {
		replaceValues(obj, hookReplicas-1, hookText)
	}
	data, _ := obj.Object["data"].(map[string]any)
	for _, text := range data {
		if text == hookText {
			replaceValues(obj, hookReplicas, fmt.Sprint(hookText, ", and back"))
		}
	}
	return textOf(obj) != before
}
