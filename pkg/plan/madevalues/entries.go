package madevalues

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/recipe"
)

// MadeKeys are all keys of a Secret's data that the request's recipes may write.
func (r *Request) MadeKeys() []string {
	var keys []string
	for _, one := range r.Recipes {
		keys = slices.Concat(keys, recipe.AllPrivateKeys(one), one.PublicKeys())
	}
	return keys
}

// HideMadeEntries returns a live Secret without what a manager's entries say of made values: they are no part of the template, so that
// a comparison with it would have them removed. live stays as it is.
func (r *Request) HideMadeEntries(live *unstructured.Unstructured, manager string) *unstructured.Unstructured {
	meta, _ := live.Object["metadata"].(map[string]any)
	entries, _ := meta["managedFields"].([]any)
	if r == nil || len(entries) == 0 {
		return live
	}
	entries = slices.Clone(entries)
	for i, e := range entries {
		entry, _ := e.(map[string]any)
		if entry["manager"] == manager {
			own, _ := entry["fieldsV1"].(map[string]any)
			entry = maps.Clone(entry)
			entry["fieldsV1"], _ = r.SplitFields(own)
			entries[i] = entry
		}
	}
	hidden, meta := maps.Clone(live.Object), maps.Clone(meta)
	meta["managedFields"], hidden["metadata"] = entries, meta
	return &unstructured.Unstructured{Object: hidden}
}

// SplitFields parts the fields of a managedFields entry, as JSON, into those that the template may set and those of
// made values, with their record. Empty ones are nil. fields stay as they are.
func (r *Request) SplitFields(fields map[string]any) (template, made map[string]any) {
	template, made = maps.Clone(fields), map[string]any{}
	move := func(keys []string, path ...string) {
		below, there := cutFields(template, made, path)
		for _, key := range keys {
			if value, has := below["f:"+key]; has {
				there["f:"+key] = value
				delete(below, "f:"+key)
			}
		}
	}
	move(r.MadeKeys(), "f:data")
	move([]string{v1alpha1.AnnotationMade}, "f:metadata", "f:annotations")
	return pruneFields(template), pruneFields(made)
}

// cutFields returns the maps at a path of two field sets, each a copy of its own, and made if need be.
func cutFields(from, to map[string]any, path []string) (below, there map[string]any) {
	for _, step := range path {
		below, _ := from[step].(map[string]any)
		if below = maps.Clone(below); below == nil {
			below = map[string]any{}
		}
		there, _ := to[step].(map[string]any)
		if there == nil {
			there = map[string]any{}
		}
		from[step], to[step] = below, there
		from, to = below, there
	}
	return from, to
}

// pruneFields takes out maps that name no field; a map of nothing but itself (`.`) is one of these. A leaf, which is an empty map, stays.
func pruneFields(fields map[string]any) map[string]any {
	for _, step := range []string{"f:data", "f:metadata"} {
		below, ok := fields[step].(map[string]any)
		if !ok {
			continue
		}
		if annotations, has := below["f:annotations"].(map[string]any); has && namesNothing(annotations) {
			delete(below, "f:annotations")
		}
		if namesNothing(below) {
			delete(fields, step)
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return fields
}

func namesNothing(fields map[string]any) bool {
	_, itself := fields["."]
	return len(fields) == 0 || len(fields) == 1 && itself
}
