package ssadiff

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// managedEntries is what the managedFields of an object say of one manager.
type managedEntries struct {
	owned ownership
	// trouble says why they cannot be used as they are; empty if they can.
	trouble string
	// migrate: an Update entry has to become an Apply entry.
	migrate bool
}

// ownership is one node of the manager's entries: which fields it owns below a path of the
// object, by the operation of the entry. Its maps are fieldsV1, as in
// {"f:spec": {"f:replicas": {}}}, and belong to the live object. Both are nil where nothing is
// known.
type ownership struct{ apply, update map[string]any }

// entriesOf finds the manager's entries for the main resource, in the version that the object
// has. The API server keeps at most one of each operation.
func entriesOf(live *unstructured.Unstructured, manager string) managedEntries {
	meta, _ := live.Object["metadata"].(map[string]any)
	list, ok := meta["managedFields"].([]any)
	if !ok {
		return managedEntries{}
	}
	version, _ := live.Object["apiVersion"].(string)
	e := managedEntries{}
	for _, entry := range list {
		entry, _ := entry.(map[string]any)
		if entry["manager"] == manager && !isSubresource(entry) {
			e.addEntry(entry, version)
		}
	}
	switch {
	case e.owned.isKnown():
		e.trouble, e.migrate = "", false
	case e.trouble == "":
		e.trouble = "nothing"
	}
	return e
}

// addEntry notes one entry of the manager. One of another version does not say what is owned
// in this one.
func (e *managedEntries) addEntry(entry map[string]any, version string) {
	fields, ok := entry["fieldsV1"].(map[string]any)
	if !ok {
		return
	}
	update := entry["operation"] == "Update"
	of, _ := entry["apiVersion"].(string)
	switch {
	case of != version:
		e.trouble = "of " + of
		e.migrate = e.migrate || update
	case update:
		e.owned.update = fields
	default:
		e.owned.apply = fields
	}
}

// ownsNothing is a node of an entry that has nothing below it.
var ownsNothing = ownership{update: map[string]any{}}

func (o ownership) isKnown() bool { return o.apply != nil || o.update != nil }

// ofField returns the node of a field. lost is true if there are entries and none has it.
// Nothing is known below a leaf: the API server takes the value as one.
func (o ownership) ofField(name string) (below ownership, lost bool) {
	if !o.isKnown() {
		return ownership{}, false
	}
	return o.ofElement("f:" + name)
}

func (o ownership) ofElement(element string) (below ownership, lost bool) {
	a, inApply := o.apply[element]
	u, inUpdate := o.update[element]
	if !inApply && !inUpdate {
		return ownership{}, true
	}
	below.apply, _ = a.(map[string]any)
	below.update, _ = u.(map[string]any)
	if isLeaf(below.apply) && isLeaf(below.update) {
		return ownership{}, false
	}
	return below, false
}

// isLeaf reports whether a node has nothing below it; "." stands for itself.
func isLeaf(node map[string]any) bool {
	_, self := node["."]
	return len(node) == 0 || self && len(node) == 1
}

// isSubresource reports whether an entry is about a subresource, as the status.
func isSubresource(entry map[string]any) bool {
	name, _ := entry["subresource"].(string)
	return name != ""
}

// listType is how the API server matches the items of a list.
type listType int

const (
	atomic listType = iota
	keyed
	set
)

func (o ownership) listType() listType {
	for element := range o.elements {
		switch {
		case strings.HasPrefix(element, "k:"):
			return keyed
		case strings.HasPrefix(element, "v:"):
			return set
		}
	}
	return atomic
}

// elements yields each path element of the node once, in any order, and whether
// the Update entry has it.
func (o ownership) elements(yield func(element string, update bool) bool) {
	for element := range o.update {
		if !yield(element, true) {
			return
		}
	}
	for element := range o.apply {
		if _, both := o.update[element]; !both && !yield(element, false) {
			return
		}
	}
}

// items returns the items that the node names by key, in any order.
func (o ownership) items() []listItem {
	var items []listItem
	for element, update := range o.elements {
		key, ok := parseKey(element)
		if !ok {
			continue
		}
		below, _ := o.ofElement(element)
		items = append(items, listItem{element: element, key: key, own: below, update: update})
	}
	return items
}

// keyField is one field of a list item's key.
type keyField struct {
	name  string
	value any
}

// parseKey reads a path element as in `k:{"name":"web"}`; its fields are sorted
// by name.
func parseKey(element string) ([]keyField, bool) {
	object, ok := strings.CutPrefix(element, "k:")
	if !ok {
		return nil, false
	}
	if key, ok := parsePlainKey(object); ok {
		return key, true
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(object), &fields); err != nil || len(fields) == 0 {
		return nil, false
	}
	key := make([]keyField, 0, len(fields))
	for name, value := range fields {
		key = append(key, keyField{name, value})
	}
	slices.SortFunc(key, func(a, b keyField) int { return strings.Compare(a.name, b.name) })
	return key, true
}

// parsePlainKey reads the usual object: its fields are sorted, their values are strings without escapes
// or whole numbers, and there is no space. It returns false if the object is another one.
func parsePlainKey(object string) (key []keyField, ok bool) {
	rest, ok := strings.CutPrefix(object, "{")
	if !ok || strings.ContainsAny(object, "\\ \t\n") {
		return nil, false
	}
	key = make([]keyField, 0, 2)
	for {
		name, after, named := cutString(rest)
		after, parted := strings.CutPrefix(after, ":")
		value, after, valued := cutPlainValue(after)
		if !named || !parted || !valued || after == "" || len(key) > 0 && key[len(key)-1].name >= name {
			return nil, false
		}
		key = append(key, keyField{name, value})
		if after == "}" {
			return key, true
		}
		if rest, ok = strings.CutPrefix(after, ","); !ok {
			return nil, false
		}
	}
}

// cutString returns the text of the string without escapes that s begins with, and what is after it.
func cutString(s string) (text, after string, ok bool) {
	if s, ok = strings.CutPrefix(s, `"`); !ok {
		return "", s, false
	}
	return strings.Cut(s, `"`)
}

// cutPlainValue is cutString, also for a whole number that a float64 holds exactly.
func cutPlainValue(s string) (value any, after string, ok bool) {
	if text, after, ok := cutString(s); ok {
		return text, after, true
	}
	digits := 0
	for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
		digits++
	}
	if digits == 0 || digits > 15 || s[0] == '0' && digits > 1 {
		return nil, s, false
	}
	number, err := strconv.ParseFloat(s[:digits], 64)
	return number, s[digits:], err == nil
}

// parseSetValue reads a path element as in `v:"x"`.
func parseSetValue(element string) (any, bool) {
	value, ok := strings.CutPrefix(element, "v:")
	if !ok {
		return nil, false
	}
	var v any
	err := json.Unmarshal([]byte(value), &v)
	return v, err == nil
}

// HasManager reports whether a manager has an entry in an object's managedFields, of whatever
// operation or subresource.
func HasManager(obj *unstructured.Unstructured, manager string) bool {
	for _, entry := range managedFieldsOf(obj) {
		if entry, _ := entry.(map[string]any); entry["manager"] == manager {
			return true
		}
	}
	return false
}

// HasManagedFields reports whether an object has managedFields at all: what `kubectl get`
// prints has none.
func HasManagedFields(obj *unstructured.Unstructured) bool {
	value, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "metadata", "managedFields")
	return value != nil
}

// WroteAnnotation reports whether the managedFields of an object say that a manager wrote an
// annotation, and that no manager named `<manager>/...` did, which writes what others chose.
// obj may be projected, with the entries of these managers.
func WroteAnnotation(obj *unstructured.Unstructured, manager, key string) bool {
	wrote := false
	for _, e := range managedFieldsOf(obj) {
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

func managedFieldsOf(obj *unstructured.Unstructured) []any {
	value, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "metadata", "managedFields")
	list, _ := value.([]any)
	return list
}
