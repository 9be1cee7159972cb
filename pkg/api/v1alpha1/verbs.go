package v1alpha1

import (
	"cmp"
	"slices"
)

// Verbs are the verbs that Ambit ever needs on a resource, in the order in which
// they are listed everywhere: as kubectl does it, from reading to deleting.
func Verbs() []string { return []string{"get", "list", "watch", "create", "patch", "delete"} }

// CompareVerbs orders verbs as Verbs does; others come after them, by name.
func CompareVerbs(a, b string) int {
	rank := func(verb string) int {
		if i := slices.Index(Verbs(), verb); i >= 0 {
			return i
		}
		return len(Verbs())
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
}
