package plan

import (
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// AnnotationFields is v1alpha1.AnnotationFields. It is a record of which fields the desired
// object had when it was written last: a hash of their names, not of their
// values.
//
// It is needed because a POST gives our Update entry not only the fields of the
// request but also those that the API server sets by default. A field of that
// entry that desired does not have may be either; that desired had another set of
// fields then says that it was ours. Nothing depends on it once the entry is one
// of operation Apply, which holds exactly what was applied. An object without the
// record is not different for that.
const AnnotationFields = v1alpha1.AnnotationFields

// record compares the records, and decides by them whether our Update entry has
// fields that were removed.
func (d *differ) record(desired, live *unstructured.Unstructured) {
	want := text(field(desired.Object, "metadata", "annotations", AnnotationFields))
	have := text(field(live.Object, "metadata", "annotations", AnnotationFields))
	if want == "" || want == have {
		return
	}
	d.migrate = d.migrate || d.extras
	if have == "" {
		return
	}
	d.push(segment{name: "metadata"})
	d.push(segment{name: "annotations"})
	d.push(segment{name: AnnotationFields})
	d.add(want, have)
	d.path = d.path[:0]
}

func (d Difference) isRecord() bool {
	return d.Path == `metadata.annotations["`+AnnotationFields+`"]`
}

// recordOf hashes the names of the fields of a desired object. Empty fields do
// not count, nor does what our Update entry says for certain: the keys of maps
// that have no defaults, the elements of lists of scalars.
func recordOf(object map[string]any) string {
	sum := uint64(0)
	for key, value := range object {
		if key != "apiVersion" && key != "kind" && key != "status" && key != "metadata" && !isEmpty(value) {
			sum += mix(hashString(key), recordValue(value, key == "data" || key == "binaryData"))
		}
	}
	return strconv.FormatUint(sum, 36)
}

// recordValue does not depend on the order of map keys: it adds them up. plain is
// a map whose keys do not count.
func recordValue(v any, plain bool) uint64 {
	switch v := v.(type) {
	case map[string]any:
		if plain {
			return 3
		}
		return recordMap(v)
	case []any:
		sum := uint64(1)
		for _, e := range v {
			if isComposite(e) {
				sum = mix(sum, recordValue(e, false))
			}
		}
		return sum
	}
	return 2
}

func recordMap(m map[string]any) uint64 {
	sum := uint64(0)
	for key, value := range m {
		if !isEmpty(value) {
			sum += mix(hashString(key), recordValue(value, hasNoDefaults(key)))
		}
	}
	return sum
}

// hasNoDefaults says whether the API server puts no defaults into maps of this
// name, wherever they are.
func hasNoDefaults(name string) bool {
	switch name {
	case "labels", "annotations", "matchLabels", "nodeSelector":
		return true
	}
	return false
}

// hashString is FNV-1a.
func hashString(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// mix combines two hashes, in this order, so that sums of results do not cancel
// each other (the finalizer of splitmix64).
func mix(a, b uint64) uint64 {
	h := a*0x9e3779b97f4a7c15 + b
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
