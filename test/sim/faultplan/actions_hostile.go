package faultplan

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/test/sim"
)

// What somebody does who may write an owner, and knows how Ambit keeps its books.

// forgedChild is the child of all entries that a plan forges, by which they are found again.
const forgedChild = "forged"

// forgeRecord adds entries to the record of an owner: of objects that there are, whoever's
// they are, and of places that nobody has.
func (c *chooser) forgeRecord() Action {
	namespace, name := c.ownerPlace(), c.name()
	first, count, places := c.IntN(100), 1+c.IntN(4), c.IntN(3)*20
	return Action{
		Text: fmt.Sprintf("somebody adds %d objects, from number %d, and %d places to the record of owner %s/%s", count, first, places, namespace, name),
		Do: func(w *World) {
			w.pretend(namespace, name)
			w.editRecord(namespace, name, func(record *inventory.Inventory) {
				record.Entries = append(record.Entries, w.forged(first, count)...)
				for i := range places {
					record.Entries = append(record.Entries, inventory.Entry{
						Child: forgedChild, GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: fmt.Sprintf("place-%d", i)})
				}
			})
		},
	}
}

// pretend gives all bystanders the labels by which Ambit finds the children of an owner.
func (w *World) pretend(namespace, name string) {
	w.mu.Lock()
	hooked := w.hooked
	w.mu.Unlock()
	owner := w.read(w.plan.Scenario.Owners, namespace, name)
	if owner == nil || hooked { // a webhook takes what looks like a child for one
		return
	}
	labels, err := json.Marshal(map[string]string{v1alpha1.LabelPolicy: w.plan.Scenario.policyLabel(), v1alpha1.LabelOwnerUID: string(owner.GetUID())})
	if err != nil {
		w.problem("writing labels: %v", err)
		return
	}
	for _, obj := range w.server.Objects() {
		if obj.GetLabels()["bystander"] == "" {
			continue
		}
		resource, err := resourceOf(w.server.As(sim.Admin), obj)
		if err != nil {
			w.problem("%v", err)
			return
		}
		w.patch(resource, obj.GetNamespace(), obj.GetName(), `{"metadata":{"labels":`+string(labels)+`}}`)
	}
}

// forged are entries of objects that there are, as many as count, from the first on.
func (w *World) forged(first, count int) (entries []inventory.Entry) {
	objects := slices.DeleteFunc(w.server.Objects(), func(o *unstructured.Unstructured) bool { return o.GetNamespace() == "" })
	for i := range min(count, len(objects)) {
		obj := objects[(first+i)%len(objects)]
		entries = append(entries, inventory.Entry{
			Child: forgedChild, GVK: obj.GroupVersionKind(), Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID(), Rank: i})
	}
	return entries
}

// editRecord changes the record of an owner, and finds one if there is none. One that would
// have two entries for an object stays as it is.
func (w *World) editRecord(namespace, name string, edit func(*inventory.Inventory)) {
	owner := w.read(w.plan.Scenario.Owners, namespace, name)
	if owner == nil {
		return
	}
	record, err := inventory.ParseInventory(owner.GetAnnotations()[v1alpha1.AnnotationChildren])
	if err != nil {
		return
	}
	record.Policy = w.plan.Scenario.policyLabel()
	if record.TokenSecret == "" {
		record.TokenSecret = "a secret that somebody made up"
	}
	if edit(&record); len(record.Entries) == 0 {
		w.annotate(namespace, name, nil)
		return
	}
	if _, err := inventory.ParseInventory(record.String()); err == nil {
		w.annotate(namespace, name, record.String())
	}
}

// annotate writes the record of an owner; nil removes it.
func (w *World) annotate(namespace, name string, record any) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1alpha1.AnnotationChildren: record}}})
	if err != nil {
		w.problem("writing a record: %v", err)
		return
	}
	w.patch(w.plan.Scenario.Owners, namespace, name, string(patch))
}

// unforge takes out of all records what Ambit could not: entries in places that it may not
// look at stay, as they should.
func (w *World) unforge() {
	for _, owner := range w.list(w.plan.Scenario.Owners) {
		record, err := inventory.ParseInventory(owner.GetAnnotations()[v1alpha1.AnnotationChildren])
		if err != nil || !slices.ContainsFunc(record.Entries, isForged) {
			continue
		}
		w.editRecord(owner.GetNamespace(), owner.GetName(), func(record *inventory.Inventory) {
			record.Entries = slices.DeleteFunc(record.Entries, isForged)
		})
	}
}

func isForged(e inventory.Entry) bool { return e.Child == forgedChild }
