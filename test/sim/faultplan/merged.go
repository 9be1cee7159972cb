package faultplan

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// What Ambit has written into objects of others.

// isAmbits says whether fields are managed by Ambit.
func isAmbits(e metav1.ManagedFieldsEntry) bool { return strings.HasPrefix(e.Manager, "ambit/") }

// hasAmbits says whether Ambit manages fields of an object. It reads no more than that takes.
func hasAmbits(obj *unstructured.Unstructured) bool {
	entries, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "metadata", "managedFields")
	list, _ := entries.([]any)
	return slices.ContainsFunc(list, func(e any) bool {
		entry, _ := e.(map[string]any)
		manager, _ := entry["manager"].(string)
		return isAmbits(metav1.ManagedFieldsEntry{Manager: manager})
	})
}

// fieldsOf are the fields of an object that chosen managers have.
func fieldsOf(obj *unstructured.Unstructured, chosen func(metav1.ManagedFieldsEntry) bool) *fieldpath.Set {
	all := &fieldpath.Set{}
	for _, entry := range obj.GetManagedFields() {
		set := &fieldpath.Set{}
		if !chosen(entry) || entry.FieldsV1 == nil || set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())) != nil {
			continue
		}
		all = all.Union(set)
	}
	return all
}

// withoutAmbits is an object without the fields that Ambit alone has written.
func withoutAmbits(obj *unstructured.Unstructured) *unstructured.Unstructured {
	if !hasAmbits(obj) {
		return obj
	}
	ours := fieldsOf(obj, isAmbits)
	theirs := fieldsOf(obj, func(e metav1.ManagedFieldsEntry) bool { return !isAmbits(e) })
	return without(obj, ours.Difference(theirs))
}

// without is an object without fields.
func without(obj *unstructured.Unstructured, fields *fieldpath.Set) *unstructured.Unstructured {
	if fields.Empty() {
		return obj
	}
	value, err := typed.DeducedParseableType.FromUnstructured(obj.Object)
	if err != nil {
		return obj
	}
	content, ok := value.RemoveItems(fields.Leaves()).AsValue().Unstructured().(map[string]any)
	if !ok {
		return obj
	}
	maps.DeleteFunc(content, func(_ string, value any) bool { return value == nil }) // all of it was Ambit's
	return &unstructured.Unstructured{Object: content}
}

// judgeForeignFields: of an object that is not Ambit's, what others have written stays. Of one
// that Ambit has taken over, what its template does not say.
func (j *judge) judgeForeignFields(before, after *unstructured.Unstructured) {
	theirs := func(obj *unstructured.Unstructured) string {
		rest := withoutAmbits(obj)
		if j.adopted[after.GetUID()] {
			rest = without(obj, fieldsOf(before, isAmbits).Union(fieldsOf(after, isAmbits)))
		}
		rest = stripped(rest.DeepCopy(), j.scenario)
		restore(rest) // a webhook changes what Ambit writes
		return textOf(rest)
	}
	if was, is := theirs(before), theirs(after); was != is {
		j.violatedLocked("foreign fields are not touched", "%s was changed:\n%s\nto\n%s", keyOf(after), was, is)
	}
}

// checkMerged: when no owner is left nothing that Ambit merged is there.
func (j *judge) checkMerged(w *World) {
	for _, obj := range w.server.Objects() {
		if j.isMade(obj.GetUID()) || !w.mayAct(obj.GetNamespace()) || j.isOvertaken(obj.GetUID()) {
			continue
		}
		if !hasAmbits(obj) {
			continue
		}
		if ours := fieldsOf(obj, isAmbits); !ours.Empty() {
			j.violated("merged fields are taken back", "%s has %s", keyOf(obj), ours)
		}
	}
}
