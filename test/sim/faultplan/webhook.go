package faultplan

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
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
	w.webhooks, w.hooked = append(w.webhooks, &h), true
	w.judge.disturbedUntil(time.Now().Add(patience)) // what two processes write need not stand
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
		r.Object = r.Object.DeepCopy()
		if err := h.admit(r); err != nil {
			return err
		}
	}
	return nil
}

// What webhooks leave in objects, by which it is found again.
const (
	hookName = "hook.example.com"
	hookKey  = "hook.example.com/was-here" // of annotations, and a finalizer
	hookText = "changed-by-a-webhook"      // as a value begins
	backText = "changed-back"              // what somebody writes in its place
)

// change is what a webhook makes of children, or of the statuses of owners. A new one is made
// for each webhook.
type change struct {
	text   string
	status bool
	do     func(*unstructured.Unstructured)
}

// changes are those there are. None takes off the record of fields that Ambit writes on a
// child: without it, what an edit drops of an object that was made by a POST cannot be told
// from what the API server sets by default, and stays.
func changes() []change {
	times := int64(0)
	return []change{
		{text: "takes all labels of Ambit off", do: func(obj *unstructured.Unstructured) {
			stripLabels(obj, func(key string) bool { return v1alpha1.IsReservedKey(key) || key == v1alpha1.LabelManagedBy })
		}},
		{text: "takes the label with the owner's uid off", do: func(obj *unstructured.Unstructured) {
			stripLabels(obj, func(key string) bool { return key == v1alpha1.LabelOwnerUID })
		}},
		{text: "annotates", do: func(obj *unstructured.Unstructured) { setNested(obj, "yes", "metadata", "annotations", hookKey) }},
		{text: "adds a sidecar to", do: addSidecar},
		{text: "changes values of", do: func(obj *unstructured.Unstructured) { changeValues(obj, hookText) }},
		{text: "changes values, each time to another one, of", do: func(obj *unstructured.Unstructured) {
			times++
			changeValues(obj, fmt.Sprint(hookText, "-", times))
		}},
		{text: "changes the status of", status: true, do: func(obj *unstructured.Unstructured) { changeConditions(obj, hookText) }},
		{text: "takes the conditions out of the status of", status: true, do: func(obj *unstructured.Unstructured) {
			unstructured.RemoveNestedField(obj.Object, "status", "conditions")
		}},
	}
}

func stripLabels(obj *unstructured.Unstructured, strips func(string) bool) {
	labels := obj.GetLabels()
	maps.DeleteFunc(labels, func(key, _ string) bool { return strips(key) })
	obj.SetLabels(labels)
}

// changeConditions changes the messages of an owner's conditions.
func changeConditions(obj *unstructured.Unstructured, message string) {
	conditions, ok, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	if !ok {
		return
	}
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok {
			condition["message"] = message
		}
	}
	setNested(obj, conditions, "status", "conditions")
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

// changeValues gives other values to what Ambit has written: the images of a Deployment, and
// the texts of a ConfigMap. What somebody else has written would stay as it is then.
func changeValues(obj *unstructured.Unstructured, text string) {
	switch wrote := writtenByAmbit(obj); {
	case obj.GetKind() == "Deployment" && strings.Contains(wrote, `"f:image"`):
		replaceImages(obj, func(string) bool { return true }, text)
	case obj.GetKind() == "ConfigMap" && strings.Contains(wrote, `"f:data"`):
		replaceTexts(obj, func(string) bool { return true }, text)
	}
}

// writtenByAmbit are the fields that Ambit has written, as in managedFields.
func writtenByAmbit(obj *unstructured.Unstructured) string {
	var b strings.Builder
	for _, entry := range obj.GetManagedFields() {
		if strings.HasPrefix(entry.Manager, v1alpha1.FieldManager("")) && entry.FieldsV1 != nil {
			b.Write(entry.FieldsV1.GetRawBytes())
		}
	}
	return b.String()
}

// replaceImages replaces those that are meant, and reports whether there was one.
func replaceImages(obj *unstructured.Unstructured, meant func(string) bool, image string) (some bool) {
	containers, _, _ := unstructured.NestedSlice(obj.Object, "spec", "template", "spec", "containers")
	for _, c := range containers {
		container, _ := c.(map[string]any)
		if now, _ := container["image"].(string); meant(now) && !isSidecar(c) {
			container["image"], some = image, true
		}
	}
	if some {
		setNested(obj, containers, "spec", "template", "spec", "containers")
	}
	return some
}

// replaceTexts is the same for the texts of a ConfigMap.
func replaceTexts(obj *unstructured.Unstructured, meant func(string) bool, text string) (some bool) {
	data, _ := obj.Object["data"].(map[string]any)
	for key, value := range data {
		if now, _ := value.(string); meant(now) {
			data[key], some = text, true
		}
	}
	return some
}

func isHookText(text string) bool { return strings.HasPrefix(text, hookText) }

func setNested(obj *unstructured.Unstructured, value any, path ...string) {
	// It fails where something of another type is in the way, which is nowhere.
	_ = unstructured.SetNestedField(obj.Object, value, path...)
}

// putRight is what somebody does who has removed the webhooks: what they added goes, for it is
// nobody's. What they changed is changed once more: Ambit, which has seen that its own value
// does not stand and left it at that, puts its own there when it sees that.
func (w *World) putRight() {
	w.mu.Lock()
	hooked := w.hooked
	w.mu.Unlock()
	if !hooked {
		return
	}
	for _, obj := range w.server.Objects() {
		if isOfWorkload(obj) || !restore(obj.DeepCopy()) {
			continue
		}
		resource, err := resourceOf(w.server.As(sim.Admin), obj)
		if err != nil {
			w.problem("%v", err)
			continue
		}
		w.change(resource, obj.GetNamespace(), obj.GetName(), restore)
	}
	for _, owner := range w.list(w.plan.Scenario.Owners) {
		w.change(w.plan.Scenario.Owners, owner.GetNamespace(), owner.GetName(), restoreStatus, "status")
	}
}

// change changes an object as it is, whoever else writes it.
func (w *World) change(resource schema.GroupVersionResource, namespace, name string, do func(*unstructured.Unstructured) bool, subresources ...string) {
	for {
		obj := w.read(resource, namespace, name)
		if obj == nil || !do(obj) {
			return
		}
		_, err := w.admin.Resource(resource).Namespace(namespace).Update(context.Background(), obj, updateOptions, subresources...)
		if !apierrors.IsConflict(err) {
			w.checked("changing", resource.Resource, err)
			return
		}
	}
}

// removeUnlabelled is what Ambit asks for where an object has lost a label by which it is found
// and is never written again.
func (w *World) removeUnlabelled() {
	for _, obj := range w.server.Objects() {
		if w.judge.isMade(obj.GetUID()) && lacksLabels(obj) && w.plan.Scenario.isWrittenOnce(obj) {
			w.removeObject(obj)
		}
	}
}

// removeObject deletes an object of any kind.
func (w *World) removeObject(obj *unstructured.Unstructured) {
	resource, err := resourceOf(w.server.As(sim.Admin), obj)
	if err != nil {
		w.problem("%v", err)
		return
	}
	w.delete(resource, obj.GetNamespace(), obj.GetName())
}

// isUnlabelled reports whether there is an unlabelled object of this key.
func (w *World) isUnlabelled(key string) bool {
	return slices.ContainsFunc(w.unlabelledObjects(), func(obj *unstructured.Unstructured) bool { return keyOf(obj) == key })
}

// unlabelledObjects are those that Ambit made and that have lost a label by which they are found, and
// that need not be on record: where an ownerReference ties one to its owner, it stays until the owner
// goes once nobody wants it any more; and one that is left behind stays for ever.
func (w *World) unlabelledObjects() []*unstructured.Unstructured {
	return slices.DeleteFunc(w.server.Objects(), func(obj *unstructured.Unstructured) bool {
		needsNoRecord := metav1.GetControllerOfNoCopy(obj) != nil || w.plan.Scenario.isOrphan(obj)
		return !w.judge.isMade(obj.GetUID()) || !needsNoRecord || !lacksLabels(obj)
	})
}

// isAbandoned reports whether an unlabelled object is another owner's than the one that wants such an
// object, as the reference says it is: its ownerReference says so, or no record proves it.
func (w *World) isAbandoned(obj *unstructured.Unstructured, wanted string) bool {
	if metav1.GetControllerOfNoCopy(obj) != nil {
		return ownerIn(wanted) != ownerIn(textOf(obj))
	}
	return !slices.ContainsFunc(w.server.Objects(), func(owner *unstructured.Unstructured) bool {
		record, err := inventory.ParseInventory(owner.GetAnnotations()[v1alpha1.AnnotationChildren])
		record.Owner = owner.GetUID()
		return err == nil && slices.ContainsFunc(record.Entries, func(e inventory.Entry) bool {
			_, ours := record.MatchToken(e, obj)
			return ours && e.Namespace == obj.GetNamespace() && e.Name == obj.GetName()
		})
	})
}

// removeAbandoned is what Ambit asks for where such an object has the name of one that another
// owner wants by now, and reports whether there was one.
func (w *World) removeAbandoned() (some bool) {
	unlabelled := w.unlabelledObjects()
	if len(unlabelled) == 0 {
		return false
	}
	want, err := w.plan.Scenario.references.of(w)
	if err != nil {
		w.problem("%v", err)
		return false
	}
	for _, obj := range unlabelled {
		if wanted, ok := want[keyOf(obj)]; ok && w.isAbandoned(obj, wanted) {
			w.removeObject(obj)
			some = true
		}
	}
	return some
}

// ownerIn is what textOf says of the owner of an object.
func ownerIn(text string) string {
	_, rest, _ := strings.Cut(text, `"owner":"`)
	owner, _, _ := strings.Cut(rest, `"`)
	return owner
}

// lacksLabels reports whether an object has lost a label by which Ambit finds it.
func lacksLabels(obj *unstructured.Unstructured) bool {
	labels := obj.GetLabels()
	return labels[v1alpha1.LabelPolicy] == "" || labels[v1alpha1.LabelOwnerUID] == ""
}

// restore takes out of an object what webhooks have added, and changes what they have changed.
// It reports whether there was something.
func restore(obj *unstructured.Unstructured) (some bool) {
	if _, ok := obj.GetAnnotations()[hookKey]; ok {
		some = true
		unstructured.RemoveNestedField(obj.Object, "metadata", "annotations", hookKey)
	}
	if held := obj.GetFinalizers(); slices.Contains(held, hookKey) {
		some = true
		obj.SetFinalizers(slices.DeleteFunc(held, func(f string) bool { return f == hookKey }))
	}
	if containers, _, _ := unstructured.NestedSlice(obj.Object, "spec", "template", "spec", "containers"); slices.ContainsFunc(containers, isSidecar) {
		some = true
		setNested(obj, slices.DeleteFunc(containers, isSidecar), "spec", "template", "spec", "containers")
	}
	images, texts := replaceImages(obj, isHookText, backText), replaceTexts(obj, isHookText, backText)
	return some || images || texts
}

// restoreStatus changes once more what webhooks have made of an owner's status, and reports
// whether there was something.
func restoreStatus(obj *unstructured.Unstructured) bool {
	conditions, ok, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	switch {
	case !ok && obj.Object["status"] != nil:
		delete(obj.Object, "status")
	case slices.ContainsFunc(conditions, isChanged):
		changeConditions(obj, backText)
	default:
		return false
	}
	return true
}

func isChanged(condition any) bool {
	c, _ := condition.(map[string]any)
	return c["message"] == hookText
}
