package informer

import (
	"iter"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apifields "k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// names is Interest.Names as one comparable value: "" for nil, else each name after a
// percent sign, which no name of an object can have, sorted and each once.
type names string

const nameMark = "%"

// namesOf reads Interest.Names.
func namesOf(list []string) names {
	if list == nil {
		return ""
	}
	if !isStrictlySorted(list) {
		list = slices.Compact(slices.Sorted(slices.Values(list)))
	}
	return names(nameMark + strings.Join(list, nameMark))
}

func isStrictlySorted(list []string) bool {
	for i := 1; i < len(list); i++ {
		if list[i-1] >= list[i] {
			return false
		}
	}
	return true
}

// all yields the names, those without a namespace in the given one.
func (n names) all(namespace string) iter.Seq[types.NamespacedName] {
	return func(yield func(types.NamespacedName) bool) {
		if len(n) <= len(nameMark) {
			return
		}
		for text := range strings.SplitSeq(string(n[len(nameMark):]), nameMark) {
			name := types.NamespacedName{Namespace: namespace, Name: text}
			if before, after, ok := strings.Cut(text, "/"); ok {
				name.Namespace, name.Name = before, after
			}
			if !yield(name) {
				return
			}
		}
	}
}

// has reports whether a name is among them.
func (n names) has(name types.NamespacedName, namespace string) bool {
	for found := range n.all(namespace) {
		if found == name {
			return true
		}
	}
	return false
}

// subset selects the objects of an informer that an Interest is about. It is comparable.
// The zero subset is all of them.
type subset struct {
	label, value string
	names        names
}

func subsetOf(need Interest) subset {
	switch {
	case need.Names != nil:
		return subset{names: namesOf(need.Names)}
	case need.IndexLabel != "":
		return subset{label: need.IndexLabel, value: need.IndexValue}
	}
	return subset{}
}

// isByName reports whether the subset is of some names.
func (p subset) isByName() bool { return p.names != "" }

// selector decides whether an object belongs to an informer, as far as that can be
// said without the API server. It is immutable.
type selector struct {
	namespace string
	labels    labels.Selector
	fields    apifields.Selector // of names and namespaces
	// partial: there are terms that only the API server can evaluate.
	partial bool
}

// newSelector reads the selectors of a key. One that cannot be read makes the
// selector partial: the API server will refuse it.
func newSelector(key Key) selector {
	s := selector{namespace: key.Namespace}
	var err error
	if s.labels, err = labels.Parse(key.LabelSelector); err != nil {
		s.labels, s.partial = labels.Everything(), true
	}
	if s.fields, err = apifields.ParseSelector(key.FieldSelector); err != nil {
		s.fields, s.partial = apifields.Everything(), true
	}
	s.fields, err = s.fields.Transform(func(field, value string) (string, string, error) {
		if field == "metadata.name" || field == "metadata.namespace" {
			return field, value, nil
		}
		s.partial = true
		return "", "", nil // the term is left out
	})
	if err != nil { // not from the function above
		s.fields, s.partial = apifields.Everything(), true
	}
	return s
}

func (s selector) evaluate(obj *unstructured.Unstructured) selection {
	known := apifields.Set{"metadata.name": obj.GetName(), "metadata.namespace": obj.GetNamespace()}
	switch {
	case s.namespace != "" && s.namespace != obj.GetNamespace(), !s.labels.Matches(labels.Set(obj.GetLabels())):
		return notSelected
	case !s.fields.Matches(known):
		return notSelected
	case s.partial:
		return selectionUnknown
	}
	return selected
}
