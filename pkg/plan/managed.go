package plan

import (
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// entries is what the managedFields of an object say of one manager.
type entries struct {
	owned owned
	// trouble says why they cannot be used as they are; empty if they can.
	trouble string
	// migrate: an Update entry has to become an Apply entry.
	migrate bool
}

// owned is one node of the manager's entries: a place in the object. Its maps are
// fieldsV1, as in {"f:spec": {"f:replicas": {}}}, and belong to the cache. Both
// are nil where nothing is known.
type owned struct{ apply, update map[string]any }

// managed finds the manager's entries for the main resource, in the version that
// the object has. The API server keeps at most one of each operation.
func managed(live *unstructured.Unstructured, manager string) entries {
	meta, _ := live.Object["metadata"].(map[string]any)
	list, ok := meta["managedFields"].([]any)
	if !ok {
		return entries{}
	}
	version, _ := live.Object["apiVersion"].(string)
	e := entries{}
	for _, entry := range list {
		entry, _ := entry.(map[string]any)
		if entry["manager"] == manager && text(entry["subresource"]) == "" {
			e.take(entry, version)
		}
	}
	switch {
	case e.owned.known():
		e.trouble, e.migrate = "", false
	case e.trouble == "":
		e.trouble = "nothing"
	}
	return e
}

// take notes one entry of ours. One of another version does not say what is
// owned in this one.
func (e *entries) take(entry map[string]any, version string) {
	fields, ok := entry["fieldsV1"].(map[string]any)
	if !ok {
		return
	}
	update := entry["operation"] == "Update"
	of := text(entry["apiVersion"])
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

func (o owned) known() bool { return o.apply != nil || o.update != nil }

// field returns the node of a field. lost is true if there are entries and none
// has it. Nothing is known below a leaf: the API server takes the value as one.
func (o owned) field(name string) (below owned, lost bool) {
	if !o.known() {
		return owned{}, false
	}
	return o.at("f:" + name)
}

func (o owned) at(element string) (below owned, lost bool) {
	a, inApply := o.apply[element]
	u, inUpdate := o.update[element]
	if !inApply && !inUpdate {
		return owned{}, true
	}
	below.apply, _ = a.(map[string]any)
	below.update, _ = u.(map[string]any)
	if isLeaf(below.apply) && isLeaf(below.update) {
		return owned{}, false
	}
	return below, false
}

// isLeaf says whether a node has nothing below it; "." stands for itself.
func isLeaf(node map[string]any) bool {
	_, self := node["."]
	return len(node) == 0 || self && len(node) == 1
}

// listType is how the API server matches the items of a list.
type listType int

const (
	atomic listType = iota
	keyed
	set
)

func (o owned) listType() listType {
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
func (o owned) elements(yield func(element string, update bool) bool) {
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
func (o owned) items() []listItem {
	var items []listItem
	for element, update := range o.elements {
		key, ok := parseKey(element)
		if !ok {
			continue
		}
		below, _ := o.at(element)
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
	if name, value, ok := plainKey(object); ok {
		return []keyField{{name, value}}, true
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

// plainKey reads an object of one field with a string value and no escapes, the
// usual one, without allocating.
func plainKey(object string) (name, value string, ok bool) {
	if strings.Count(object, `"`) != 4 || strings.Contains(object, `\`) {
		return "", "", false
	}
	inner, opened := strings.CutPrefix(object, `{"`)
	inner, closed := strings.CutSuffix(inner, `"}`)
	name, value, parted := strings.Cut(inner, `":"`)
	return name, value, opened && closed && parted
}

// setValue reads a path element as in `v:"x"`.
func setValue(element string) (any, bool) {
	value, ok := strings.CutPrefix(element, "v:")
	if !ok {
		return nil, false
	}
	var v any
	err := json.Unmarshal([]byte(value), &v)
	return v, err == nil
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
