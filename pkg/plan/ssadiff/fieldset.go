package ssadiff

import (
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// annotationFields holds the FieldSetHash of the desired object that was written last.
//
// It is needed because a POST gives the manager's Update entry not only the fields of the
// request but also those that the API server sets by default. A field of that entry that
// desired does not have may be either; another hash shows that it was desired before. Nothing
// depends on it for fields that only the entry of operation Apply has, which holds exactly what was applied.
// An object without the annotation is not different for that.
const annotationFields = v1alpha1.AnnotationFields

// compareFieldSets compares the field sets, and decides by them whether the Update entry has
// fields that were removed.
func (d *comparison) compareFieldSets(desired, live *unstructured.Unstructured) {
	want, have := fieldSetOf(desired), fieldSetOf(live)
	if want == "" || want == have {
		return
	}
	d.migrate = d.migrate || d.extras
	if have == "" {
		return
	}
	d.pushSegment(segment{name: "metadata"})
	d.pushSegment(segment{name: "annotations"})
	d.pushSegment(segment{name: annotationFields})
	d.addDifference(want, have)
	d.path = d.path[:0]
}

// fieldSetOf returns the hash on an object; empty for none.
func fieldSetOf(obj *unstructured.Unstructured) string {
	hash, _, _ := unstructured.NestedString(obj.Object, "metadata", "annotations", annotationFields)
	return hash
}

// isFieldSet reports whether the difference is that of the field sets.
func (d Difference) isFieldSet() bool {
	return d.Path == `metadata.annotations["`+annotationFields+`"]`
}

// FieldSetHash returns a hash of the names of the fields of a desired object, not of their
// values: the value of the annotation v1alpha1.AnnotationFields, which the writer sets. Empty
// fields do not count, nor does what the Update entry tells for certain: the keys of maps that
// have no defaults, the elements of lists of scalars.
func FieldSetHash(object map[string]any) string {
	sum := uint64(0)
	for key, value := range object {
		if key != "apiVersion" && key != "kind" && key != "status" && key != "metadata" && !isEmpty(value) {
			sum += mixHashes(hashString(key), hashFieldSet(value, key == "data" || key == "binaryData"))
		}
	}
	return strconv.FormatUint(sum, 36)
}

// hashFieldSet does not depend on the order of map keys: it adds them up. plain is true for a
// map whose keys do not count.
func hashFieldSet(v any, plain bool) uint64 {
	switch v := v.(type) {
	case map[string]any:
		if plain {
			return 3
		}
		return hashMapFields(v)
	case []any:
		sum := uint64(1)
		for _, e := range v {
			if isComposite(e) {
				sum = mixHashes(sum, hashFieldSet(e, false))
			}
		}
		return sum
	}
	return 2
}

func hashMapFields(m map[string]any) uint64 {
	sum := uint64(0)
	for key, value := range m {
		if !isEmpty(value) {
			sum += mixHashes(hashString(key), hashFieldSet(value, hasNoDefaults(key)))
		}
	}
	return sum
}

// hasNoDefaults reports whether the API server puts no defaults into maps of this
// name, wherever they are.
func hasNoDefaults(name string) bool {
	switch name {
	case "labels", "annotations", "matchLabels", "nodeSelector":
		return true
	}
	return false
}

// hashString is FNV-1a, of 64 bits.
func hashString(s string) uint64 { return addString(fnvOffset, s) }

// fnvOffset is FNV-1a of nothing.
const fnvOffset uint64 = 14695981039346656037

func addString(h uint64, s string) uint64 {
	for i := range len(s) {
		h = hashByte(h, s[i])
	}
	return h
}

func hashByte(h uint64, b byte) uint64 { return (h ^ uint64(b)) * 1099511628211 }

// mixHashes combines two hashes, in this order, so that sums of results do not cancel
// each other (the finalizer of splitmix64).
func mixHashes(a, b uint64) uint64 {
	h := a*0x9e3779b97f4a7c15 + b
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
