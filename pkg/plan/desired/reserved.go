package desired

import (
	"slices"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/objectmeta"
	"github.com/ambit-dev/ambit/pkg/plan/problems"
)

// maxDroppedKey is how many characters of a key are told.
const maxDroppedKey = 63

// DropReserved takes out of rendered metadata what Ambit takes for its own sign: labels,
// annotations and finalizers of ambit.dev, the label app.kubernetes.io/managed-by, and
// ownerReferences. An expression gave them, and with that perhaps whoever writes owners;
// what a template says itself is a mistake of the policy. It returns what it took out,
// as in `label ambit.dev/policy`, sorted. In what is merged into an object of somebody else, the
// label app.kubernetes.io/managed-by is not Ambit's to set.
func DropReserved(meta map[string]any, merged bool) []string {
	dropped := dropKeys(meta, "annotations", "annotation", v1alpha1.IsReservedKey)
	dropped = append(dropped, dropFinalizers(meta)...)
	dropped = append(dropped, dropKeys(meta, "labels", "label", func(key string) bool {
		return v1alpha1.IsReservedKey(key) || merged && key == v1alpha1.LabelManagedBy // else it is set anyway
	})...)
	if _, has := meta["ownerReferences"]; has {
		delete(meta, "ownerReferences")
		dropped = append(dropped, "ownerReferences")
	}
	return dropped
}

// dropKeys takes keys out of a map of the metadata, and the map if nothing is left.
func dropKeys(meta map[string]any, part, what string, reserved func(key string) bool) []string {
	values, _ := meta[part].(map[string]any)
	var dropped []string
	for key := range values {
		if reserved(key) {
			delete(values, key)
			dropped = append(dropped, key)
		}
	}
	if len(values) == 0 && len(dropped) > 0 {
		delete(meta, part)
	}
	slices.Sort(dropped)
	for i, key := range dropped {
		dropped[i] = what + " " + problems.ShortenText(key, maxDroppedKey)
	}
	return dropped
}

func dropFinalizers(meta map[string]any) []string {
	list, _ := meta["finalizers"].([]any)
	var dropped []string
	kept := slices.DeleteFunc(slices.Clone(list), func(f any) bool {
		name := objectmeta.TextOf(f)
		if v1alpha1.IsReservedKey(name) {
			dropped = append(dropped, "finalizer "+problems.ShortenText(name, maxDroppedKey))
		}
		return v1alpha1.IsReservedKey(name)
	})
	switch {
	case len(dropped) == 0:
		return nil
	case len(kept) == 0:
		delete(meta, "finalizers")
	default:
		meta["finalizers"] = kept
	}
	slices.Sort(dropped)
	return dropped
}
