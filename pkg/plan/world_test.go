package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// world is a small model of an API server: it makes, applies, edits and deletes
// objects, sets defaults, and keeps managedFields as the real one does. What it
// knows of schemas stands in listKinds and isAtomicMap.
type world struct {
	objects []*unstructured.Unstructured
	next    int
	// owner is the uid of the owner that ambit acts for: touching what is not its is
	// reported in crimes.
	owner  types.UID
	crimes []string
}

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
			l.path[0] == "f:metadata" && len(l.path) > 1 && isServerMetadata(strings.TrimPrefix(l.path[1], "f:"))
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

// setDefaults does what the API server does after decoding: defaults, and
// canonical quantities.
func setDefaults(object map[string]any) {
	spec, ok := object["spec"].(map[string]any)
	if !ok {
		return
	}
	setDefault(spec, "mode", "standard")
	setDefault(spec, "strategy", map[string]any{"type": "Rolling"})
	setDefault(submap(spec, "strategy"), "type", "Rolling")
	containers, _ := spec["containers"].([]any)
	for _, c := range containers {
		c := c.(map[string]any)
		setDefault(c, "pullPolicy", "IfNotPresent")
		ports, _ := c["ports"].([]any)
		for _, p := range ports {
			setDefault(p.(map[string]any), "protocol", "TCP")
		}
		limits, _ := c["limits"].(map[string]any)
		for k, v := range limits {
			if q, ok := quantity(v); ok {
				limits[k] = q.String()
			}
		}
	}
}

func setDefault(m map[string]any, key string, value any) {
	if m[key] == nil {
		m[key] = value
	}
}

func entriesOf(obj *unstructured.Unstructured) []entry {
	var entries []entry
	list, _ := field(obj.Object, "metadata", "managedFields").([]any)
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

func (w *world) store(obj *unstructured.Unstructured, entries []entry) {
	var list []any
	for _, e := range entries {
		if len(e.fields) > 0 {
			list = append(list, map[string]any{
				"manager": e.manager, "operation": e.operation, "apiVersion": obj.GetAPIVersion(),
				"fieldsType": "FieldsV1", "fieldsV1": encodeFields(e.fields),
			})
		}
	}
	meta := submap(obj.Object, "metadata")
	meta["managedFields"] = list
	w.next++
	obj.SetResourceVersion(fmt.Sprint(w.next))
	w.objects = slices.DeleteFunc(w.objects, func(o *unstructured.Unstructured) bool { return o.GetUID() == obj.GetUID() })
	w.objects = append(w.objects, obj)
	slices.SortFunc(w.objects, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetName(), b.GetName()))
	})
}

func (w *world) find(kind, name string) *unstructured.Unstructured {
	for _, o := range w.objects {
		if o.GetKind() == kind && o.GetName() == name {
			return o
		}
	}
	return nil
}

// create is a POST. It returns false if the name is taken.
func (w *world) create(object *unstructured.Unstructured, manager string) bool {
	if w.find(object.GetKind(), object.GetName()) != nil {
		return false
	}
	obj := object.DeepCopy()
	setDefaults(obj.Object)
	fields := setOf(managedLeaves(obj.Object))
	if obj.GetUID() == "" {
		w.next++
		obj.SetUID(types.UID(fmt.Sprintf("uid-%d", w.next)))
	}
	obj.SetGeneration(1)
	w.store(obj, []entry{{manager, "Update", fields}})
	return true
}

// apply is a forced server-side apply on an object that exists.
func (w *world) apply(live, desired *unstructured.Unstructured, manager string) {
	w.check(live, "applies to")
	entries := entriesOf(live)
	obj := live.DeepCopy()
	wanted := managedLeaves(desired.Object)
	set := setOf(wanted)
	last := fieldSet{}
	var others []entry
	for _, e := range entries {
		if e.manager == manager && e.operation == "Apply" {
			last = e.fields
			continue
		}
		others = append(others, e)
	}
	for _, l := range wanted {
		old, ok := get(live.Object, l.path)
		if ok && (l.item || isEmpty(l.value) || encode(old) == encode(l.value)) {
			continue
		}
		for _, o := range others {
			delete(o.fields, strings.Join(l.path, "\x00"))
		}
		obj.Object = put(obj.Object, l.path, l.value).(map[string]any)
	}
	prune(obj, last, set, others)
	setDefaults(obj.Object)
	w.store(obj, append(others, entry{manager, "Apply", set}))
}

// prune removes what was applied last, is not any more, and nobody else has.
func prune(obj *unstructured.Unstructured, last, set fieldSet, others []entry) {
	for _, key := range slices.Sorted(maps.Keys(last)) {
		path := last[key]
		kept := set.hasBelow(path)
		for _, o := range others {
			kept = kept || o.fields.hasBelow(path)
		}
		if !kept {
			obj.Object = drop(obj.Object, path).(map[string]any)
		}
	}
}

// migrate does what csaupgrade does.
func (w *world) migrate(live *unstructured.Unstructured, manager string) *unstructured.Unstructured {
	w.check(live, "migrates")
	fields := fieldSet{}
	var others []entry
	for _, e := range entriesOf(live) {
		if e.manager != manager {
			others = append(others, e)
			continue
		}
		maps.Copy(fields, e.fields)
	}
	obj := live.DeepCopy()
	w.store(obj, append(others, entry{manager, "Apply", fields}))
	return obj
}

// edit is a merge patch by somebody else.
func (w *world) edit(live *unstructured.Unstructured, patch map[string]any, manager string) {
	obj := live.DeepCopy()
	mergePatch(obj.Object, patch)
	setDefaults(obj.Object)
	before, after := map[string]leaf{}, map[string]leaf{}
	for _, l := range managedLeaves(live.Object) {
		before[strings.Join(l.path, "\x00")] = l
	}
	changed := fieldSet{}
	for _, l := range managedLeaves(obj.Object) {
		key := strings.Join(l.path, "\x00")
		after[key] = l
		if old, ok := before[key]; !ok || encode(old.value) != encode(l.value) {
			changed.add(l.path)
		}
	}
	entries := entriesOf(live)
	mine := fieldSet{}
	for _, e := range entries {
		for key := range e.fields {
			_, there := after[key]
			if _, taken := changed[key]; taken || !there {
				delete(e.fields, key)
			}
		}
		if e.manager == manager && e.operation == "Update" {
			mine = e.fields
		}
	}
	entries = slices.DeleteFunc(entries, func(e entry) bool { return e.manager == manager && e.operation == "Update" })
	maps.Copy(mine, changed)
	w.store(obj, append(entries, entry{manager, "Update", mine}))
}

func mergePatch(m, patch map[string]any) {
	for key, value := range patch {
		below, ok := value.(map[string]any)
		switch {
		case value == nil:
			delete(m, key)
		case ok:
			mergePatch(submap(m, key), below)
		default:
			m[key] = runtime.DeepCopyJSONValue(value)
		}
	}
}

// remove deletes, or marks as deleted what has finalizers.
func (w *world) remove(live *unstructured.Unstructured) {
	w.check(live, "deletes")
	if len(live.GetFinalizers()) > 0 {
		obj := live.DeepCopy()
		submap(obj.Object, "metadata")["deletionTimestamp"] = "2026-01-01T00:00:00Z"
		w.store(obj, entriesOf(obj))
		return
	}
	w.objects = slices.DeleteFunc(w.objects, func(o *unstructured.Unstructured) bool { return o.GetUID() == live.GetUID() })
}

func (w *world) check(live *unstructured.Unstructured, what string) {
	for _, ref := range live.GetOwnerReferences() {
		if ref.Controller != nil && *ref.Controller && ref.UID == w.owner {
			return
		}
	}
	w.crimes = append(w.crimes, fmt.Sprintf("ambit %s %s %s, which is not its own", what, live.GetKind(), live.GetName()))
}
