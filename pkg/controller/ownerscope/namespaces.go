package ownerscope

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
)

// Namespaces are the namespaces there are, with their labels, by name, until they are gone: in one that is
// being deleted there may be owners that only we let go. It is not changed: another
// list is another pointer.
type Namespaces map[string]labels.Set

// NamesWhere returns the names that keep wants, sorted, never nil.
func (s *Namespaces) NamesWhere(keep func(name string) bool) []string {
	names := []string{}
	for name := range *s {
		if keep(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
