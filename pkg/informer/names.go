package informer

import (
	"iter"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// names is Need.Names as one comparable value: "" for nil, else each name after a
// percent sign, which no name of an object can have, sorted and each once.
type names string

const nameMark = "%"

// namesOf reads Need.Names.
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

// has says whether a name is among them.
func (n names) has(name types.NamespacedName, namespace string) bool {
	for found := range n.all(namespace) {
		if found == name {
			return true
		}
	}
	return false
}

// part is which objects of a stream a need is about. It is comparable; the zero
// part is all of them.
type part struct {
	label, value string
	names        names
}

func partOf(need Interest) part {
	switch {
	case need.Names != nil:
		return part{names: namesOf(need.Names)}
	case need.IndexLabel != "":
		return part{label: need.IndexLabel, value: need.IndexValue}
	}
	return part{}
}

// byName says whether the part is of some names.
func (p part) byName() bool { return p.names != "" }
