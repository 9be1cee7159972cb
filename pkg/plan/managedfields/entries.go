// Package managedfields reads what metadata.managedFields of an object say of one manager: which fields
// it owns, by which operation, and how the API server matches the items of a list.
//
// It knows no desired object and compares nothing. Malformed entries are taken for absent; nothing panics,
// and nothing that is read is changed.
package managedfields

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Entries is what the managedFields of an object say of one manager.
type Entries struct {
	Owned Ownership
	// Trouble says why they cannot be used as they are; empty if they can.
	Trouble string
	// Migrate: an Update entry has to become an Apply entry.
	Migrate bool
}

// FindEntries finds the manager's entries for the main resource, in the version that the object
// has. The API server keeps at most one of each operation.
func FindEntries(live *unstructured.Unstructured, manager string) Entries {
	meta, _ := live.Object["metadata"].(map[string]any)
	list, ok := meta["managedFields"].([]any)
	if !ok {
		return Entries{}
	}
	version, _ := live.Object["apiVersion"].(string)
	e := Entries{}
	for _, entry := range list {
		entry, _ := entry.(map[string]any)
		if entry["manager"] == manager && !isSubresource(entry) {
			e.addEntry(entry, version)
		}
	}
	switch {
	case e.Owned.IsKnown():
		e.Trouble, e.Migrate = "", false
	case e.Trouble == "":
		e.Trouble = "nothing"
	}
	return e
}

// addEntry notes one entry of the manager. One of another version does not say what is owned
// in this one.
func (e *Entries) addEntry(entry map[string]any, version string) {
	fields, ok := entry["fieldsV1"].(map[string]any)
	if !ok {
		return
	}
	update := entry["operation"] == "Update"
	of, _ := entry["apiVersion"].(string)
	switch {
	case of != version:
		e.Trouble = "of " + of
		e.Migrate = e.Migrate || update
	case update:
		e.Owned.Update = fields
	default:
		e.Owned.Apply = fields
	}
}

// isSubresource reports whether an entry is about a subresource, as the status.
func isSubresource(entry map[string]any) bool {
	name, _ := entry["subresource"].(string)
	return name != ""
}

// HasManager reports whether a manager has an entry in an object's managedFields, of whatever
// operation or subresource.
func HasManager(obj *unstructured.Unstructured, manager string) bool {
	for _, entry := range entriesOf(obj) {
		if entry, _ := entry.(map[string]any); entry["manager"] == manager {
			return true
		}
	}
	return false
}

// IsPresent reports whether an object has managedFields at all: what `kubectl get`
// prints has none.
func IsPresent(obj *unstructured.Unstructured) bool {
	value, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "metadata", "managedFields")
	return value != nil
}

// WroteAnnotation reports whether the managedFields of an object say that a manager wrote an
// annotation, and that no manager named `<manager>/...` did, which writes what others chose.
// obj may be projected, with the entries of these managers.
func WroteAnnotation(obj *unstructured.Unstructured, manager, key string) bool {
	wrote := false
	for _, e := range entriesOf(obj) {
		entry, _ := e.(map[string]any)
		if owned, _, _ := unstructured.NestedFieldNoCopy(entry, "fieldsV1", "f:metadata", "f:annotations", "f:"+key); owned == nil {
			continue
		}
		switch name, _ := entry["manager"].(string); {
		case name == manager:
			wrote = true
		case strings.HasPrefix(name, manager+"/"):
			return false
		}
	}
	return wrote
}

func entriesOf(obj *unstructured.Unstructured) []any {
	value, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "metadata", "managedFields")
	list, _ := value.([]any)
	return list
}
