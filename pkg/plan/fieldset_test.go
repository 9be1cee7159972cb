package plan

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ambit-dev/ambit/pkg/plan/objectmeta"
	"github.com/ambit-dev/ambit/pkg/plan/ssadiff"
)

// fieldSet maps the text of a path to its elements, as in f:spec, k:{"name":"a"}.
type fieldSet map[string][]string

func (s fieldSet) add(path []string) { s[strings.Join(path, "\x00")] = path }

// hasBelow says whether the set has the path or one below it.
func (s fieldSet) hasBelow(path []string) bool {
	for _, p := range s {
		if len(p) >= len(path) && slices.Equal(p[:len(path)], path) {
			return true
		}
	}
	return false
}

// entry is one entry of managedFields.
type entry struct {
	manager, operation string
	fields             fieldSet
}

func listKinds(name string) []string {
	return map[string][]string{
		"containers": {"name"}, "env": {"name"}, "ports": {"containerPort", "protocol"}, "ownerReferences": {"uid"},
		"tags": {}, "finalizers": {},
	}[name]
}

func isAtomicMap(name string) bool { return name == "selector" }

type leaf struct {
	path  []string
	value any
	item  bool // a list item itself
}

// leavesOf lists what managedFields would name of a value.
func leavesOf(v any, path []string, name string) []leaf {
	at := func(element string) []string { return append(slices.Clone(path), element) }
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 || isAtomicMap(name) {
			break
		}
		var all []leaf
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = append(all, leavesOf(v[key], at("f:"+key), key)...)
		}
		return all
	case []any:
		keys := listKinds(name)
		if keys == nil || len(v) == 0 {
			break
		}
		var all []leaf
		for _, e := range v {
			if len(keys) == 0 {
				all = append(all, leaf{path: at("v:" + encode(e)), value: e})
				continue
			}
			all = append(all, leaf{path: at("k:" + encode(keyOf(e.(map[string]any), keys))), item: true})
			for _, key := range slices.Sorted(maps.Keys(e.(map[string]any))) {
				all = append(all, leavesOf(e.(map[string]any)[key], append(at("k:"+encode(keyOf(e.(map[string]any), keys))), "f:"+key), key)...)
			}
		}
		return all
	}
	return []leaf{{path: path, value: v}}
}

func keyOf(item map[string]any, keys []string) map[string]any {
	key := map[string]any{}
	for _, k := range keys {
		key[k] = item[k]
		if item[k] == nil && k == "protocol" {
			key[k] = "TCP"
		}
	}
	return key
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// managedLeaves are those of the object that managedFields account for.
func managedLeaves(object map[string]any) []leaf {
	return slices.DeleteFunc(leavesOf(object, nil, ""), func(l leaf) bool {
		return l.path[0] == "f:apiVersion" || l.path[0] == "f:kind" || l.path[0] == "f:status" ||
			l.path[0] == "f:metadata" && len(l.path) > 1 && ssadiff.IsServerMetadata(strings.TrimPrefix(l.path[1], "f:"))
	})
}

func setOf(leaves []leaf) fieldSet {
	s := fieldSet{}
	for _, l := range leaves {
		s.add(l.path)
	}
	return s
}

// get returns what is at a path.
func get(v any, path []string) (any, bool) {
	for _, element := range path {
		kind, text := element[:2], element[2:]
		switch kind {
		case "f:":
			m, _ := v.(map[string]any)
			next, ok := m[text]
			if !ok {
				return nil, false
			}
			v = next
		default:
			list, _ := v.([]any)
			i := indexOf(list, kind, text)
			if i < 0 {
				return nil, false
			}
			v = list[i]
		}
	}
	return v, true
}

func indexOf(list []any, kind, text string) int {
	return slices.IndexFunc(list, func(e any) bool {
		if kind == "v:" {
			return encode(e) == text
		}
		var key map[string]any
		if err := json.Unmarshal([]byte(text), &key); err != nil {
			panic(err)
		}
		have := keyOf(e.(map[string]any), slices.Sorted(maps.Keys(key)))
		return encode(have) == text
	})
}

// put sets what is at a path, making what is missing on the way, and returns the
// new root.
func put(v any, path []string, value any) any {
	if len(path) == 0 {
		return runtime.DeepCopyJSONValue(value)
	}
	kind, text := path[0][:2], path[0][2:]
	if kind == "f:" {
		m, ok := v.(map[string]any)
		if !ok {
			m = map[string]any{}
		}
		m[text] = put(m[text], path[1:], value)
		return m
	}
	list, _ := v.([]any)
	i := indexOf(list, kind, text)
	if i < 0 {
		var e any
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			panic(err)
		}
		list, i = append(list, integers(e)), len(list)
	}
	if len(path) > 1 {
		list[i] = put(list[i], path[1:], value)
	}
	return list
}

// integers turns whole floats, as JSON decoding gives them, into int64.
func integers(v any) any {
	switch v := v.(type) {
	case float64:
		return int64(v)
	case map[string]any:
		for k := range v {
			v[k] = integers(v[k])
		}
	}
	return v
}

// drop removes what is at a path, and containers that become empty, and returns
// the new root; nil if nothing is left.
func drop(v any, path []string) any {
	kind, text := path[0][:2], path[0][2:]
	if kind == "f:" {
		m, _ := v.(map[string]any)
		below, ok := m[text]
		if !ok {
			return v
		}
		if len(path) > 1 {
			below = drop(below, path[1:])
		}
		m[text] = below
		if len(path) == 1 || below == nil {
			delete(m, text)
		}
		if len(m) == 0 {
			return nil
		}
		return m
	}
	list, _ := v.([]any)
	i := indexOf(list, kind, text)
	switch {
	case i < 0:
	case len(path) == 1:
		list = slices.Delete(slices.Clone(list), i, i+1)
	default:
		if list[i] = drop(list[i], path[1:]); list[i] == nil {
			list = slices.Delete(slices.Clone(list), i, i+1)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list
}

func entriesOf(obj *unstructured.Unstructured) []entry {
	var entries []entry
	list, _ := objectmeta.FieldAt(obj.Object, "metadata", "managedFields").([]any)
	for _, e := range list {
		e := e.(map[string]any)
		fields := fieldSet{}
		decodeFields(e["fieldsV1"].(map[string]any), nil, fields)
		entries = append(entries, entry{e["manager"].(string), e["operation"].(string), fields})
	}
	return entries
}

func decodeFields(node map[string]any, path []string, into fieldSet) {
	if isLeaf(node) || node["."] != nil {
		into.add(path)
	}
	for key, below := range node {
		if key != "." {
			decodeFields(below.(map[string]any), append(slices.Clone(path), key), into)
		}
	}
}

func encodeFields(fields fieldSet) map[string]any {
	root := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		node := root
		for _, element := range fields[key] {
			node = submap(node, element)
		}
		if last := fields[key]; strings.HasPrefix(last[len(last)-1], "k:") {
			node["."] = map[string]any{}
		}
	}
	return root
}

// isEmpty reports whether a value counts as not there.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// isLeaf reports whether a node of fieldsV1 has nothing below it; "." stands for itself.
func isLeaf(node map[string]any) bool {
	_, self := node["."]
	return len(node) == 0 || self && len(node) == 1
}
