package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
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
	// made are the objects that ambit has made or adopted.
	made map[types.UID]bool
}

// isClusterScoped says which kinds have no namespace.
func isClusterScoped(kind string) bool { return kind == "Zone" || kind == "Tenant" }

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
			if q, err := resource.ParseQuantity(fmt.Sprint(v)); err == nil {
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
		return cmp.Or(cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
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

func (w *world) findIn(kind, namespace, name string) *unstructured.Unstructured {
	for _, o := range w.objects {
		if o.GetKind() == kind && o.GetNamespace() == namespace && o.GetName() == name {
			return o
		}
	}
	return nil
}

// create is a POST. It returns false if the name is taken.
func (w *world) create(object *unstructured.Unstructured, manager string) bool {
	if w.findIn(object.GetKind(), object.GetNamespace(), object.GetName()) != nil {
		return false
	}
	obj := object.DeepCopy()
	if manager != "somebody" {
		submap(obj.Object, "metadata")["creationTimestamp"] = fmt.Sprintf("2026-01-01T00:%02d:00Z", w.next%60)
	}
	setDefaults(obj.Object)
	fields := setOf(managedLeaves(obj.Object))
	if obj.GetUID() == "" {
		w.next++
		obj.SetUID(types.UID(fmt.Sprintf("uid-%d", w.next)))
	}
	obj.SetGeneration(1)
	if manager != "somebody" {
		w.own(obj)
	}
	w.store(obj, []entry{{manager, "Update", fields}})
	return true
}

func (w *world) own(obj *unstructured.Unstructured) {
	if w.made == nil {
		w.made = map[types.UID]bool{}
	}
	w.made[obj.GetUID()] = true
}

// conflict names the other manager that has a field which a server-side apply without
// force would change.
func (w *world) conflict(live, desired *unstructured.Unstructured, manager string) string {
	for _, l := range managedLeaves(desired.Object) {
		old, ok := get(live.Object, l.path)
		if !ok || l.item || encode(old) == encode(l.value) {
			continue
		}
		for _, e := range entriesOf(live) {
			if e.manager != manager && e.fields.hasBelow(l.path) {
				return e.manager
			}
		}
	}
	return ""
}

// apply is a forced server-side apply on an object that exists.
func (w *world) apply(live, desired *unstructured.Unstructured, manager string) {
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
	pruneFields(obj, last, set, others)
	setDefaults(obj.Object)
	w.store(obj, append(others, entry{manager, "Apply", set}))
}

// pruneFields removes what was applied last, is not any more, and nobody else has.
func pruneFields(obj *unstructured.Unstructured, last, set fieldSet, others []entry) {
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

// pick finds the object that a text names, with or without namespace.
func (w *world) pick(of *unstructured.Unstructured) *unstructured.Unstructured {
	if of.GetNamespace() != "" {
		return w.findIn(of.GetKind(), of.GetNamespace(), of.GetName())
	}
	return w.find(of.GetKind(), of.GetName())
}

// vanish deletes by somebody else.
func (w *world) vanish(live *unstructured.Unstructured) {
	w.own(live)
	w.remove(live)
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
	if w.made[live.GetUID()] {
		return
	}
	for _, ref := range live.GetOwnerReferences() {
		if ref.Controller != nil && *ref.Controller && ref.UID == w.owner {
			return
		}
	}
	w.crimes = append(w.crimes, fmt.Sprintf("ambit %s %s %s, which is not its own", what, live.GetKind(), live.GetName()))
}

// submap returns the map at a key of m, made if need be.
func submap(m map[string]any, key string) map[string]any {
	sub, ok := m[key].(map[string]any)
	if !ok {
		sub = map[string]any{}
		m[key] = sub
	}
	return sub
}
