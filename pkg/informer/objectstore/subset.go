package objectstore

import (
	"iter"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Subset selects some objects of an informer. It is comparable. The zero Subset is all of
// them; a Label without names is those where it has Value.
type Subset struct {
	Label, Value string
	// names are the names of the objects as one comparable text: "" for none, else each
	// after nameMark, sorted and each once. One without a namespace is in namespace.
	names, namespace string
}

// nameMark is a character that no name of an object has.
const nameMark = "%"

// SubsetOfNames selects objects by `name` or `namespace/name`, in any order; a nil list is
// one of no names. Names without a namespace are in the given one.
func SubsetOfNames(list []string, namespace string) Subset {
	if !isStrictlySorted(list) {
		list = slices.Compact(slices.Sorted(slices.Values(list)))
	}
	return Subset{names: nameMark + strings.Join(list, nameMark), namespace: namespace}
}

func isStrictlySorted(list []string) bool {
	for i := 1; i < len(list); i++ {
		if list[i-1] >= list[i] {
			return false
		}
	}
	return true
}

// IsByName reports whether the subset is of some names.
func (p Subset) IsByName() bool { return p.names != "" }

// Names yields the names of the subset; none if it is not by name.
func (p Subset) Names() iter.Seq[types.NamespacedName] {
	return func(yield func(types.NamespacedName) bool) {
		if len(p.names) <= len(nameMark) {
			return
		}
		for text := range strings.SplitSeq(p.names[len(nameMark):], nameMark) {
			name := types.NamespacedName{Namespace: p.namespace, Name: text}
			if before, after, ok := strings.Cut(text, "/"); ok {
				name.Namespace, name.Name = before, after
			}
			if !yield(name) {
				return
			}
		}
	}
}

// hasName reports whether a name is among those of the subset.
func (p Subset) hasName(name types.NamespacedName) bool {
	for found := range p.Names() {
		if found == name {
			return true
		}
	}
	return false
}

// matches reports whether an object is in the subset; name is that of the object.
func (p Subset) matches(name types.NamespacedName, object *unstructured.Unstructured) bool {
	if p.IsByName() {
		return p.hasName(name)
	}
	return p.Label == "" || hasLabel(object, p.Label, p.Value)
}
