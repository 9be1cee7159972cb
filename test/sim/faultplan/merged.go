package faultplan

import (
	"bytes"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// What Ambit has written into objects of others.

// isAmbits says whether a field manager is Ambit's.
func isAmbits(manager string) bool { return strings.HasPrefix(manager, "ambit/") }

// fieldsOf are the fields of an object that chosen managers have.
func fieldsOf(obj *unstructured.Unstructured, chosen func(manager string) bool) *fieldpath.Set {
	all := &fieldpath.Set{}
	for _, entry := range obj.GetManagedFields() {
		set := &fieldpath.Set{}
		if !chosen(entry.Manager) || entry.FieldsV1 == nil || set.FromJSON(bytes.NewReader(entry.FieldsV1.Raw)) != nil {
			continue
		}
		all = all.Union(set)
	}
	return all
}

// withoutAmbits is an object without the fields that Ambit alone has written.
func withoutAmbits(obj *unstructured.Unstructured) *unstructured.Unstructured {
	ours := fieldsOf(obj, isAmbits)
	if ours.Empty() {
		return obj
	}
	theirs := fieldsOf(obj, func(manager string) bool { return !isAmbits(manager) })
	value, err := typed.DeducedParseableType.FromUnstructured(obj.Object)
	if err != nil {
		return obj
	}
	content, ok := value.RemoveItems(ours.Difference(theirs).Leaves()).AsValue().Unstructured().(map[string]any)
	if !ok {
		return obj
	}
	return &unstructured.Unstructured{Object: content}
}

// judgeForeignFields: of an object that is not Ambit's, what others have written stays.
func (j *judge) judgeForeignFields(before, after *unstructured.Unstructured) {
	if was, is := textOf(asWritten(before, j.scenario)), textOf(asWritten(after, j.scenario)); was != is {
		j.violatedLocked("foreign fields are not touched", "%s was changed:\n%s\nto\n%s", keyOf(after), was, is)
	}
}

// checkMerged: when no owner is left nothing that Ambit merged is there.
func (j *judge) checkMerged(w *World) {
	for _, obj := range w.server.Objects() {
		if j.isMade(obj.GetUID()) || !w.mayAct(obj.GetNamespace()) {
			continue
		}
		if ours := fieldsOf(obj, isAmbits); !ours.Empty() {
			j.violated("merged fields are taken back", "%s has %s", keyOf(obj), ours)
		}
	}
}
