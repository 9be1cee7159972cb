package ownerviews

import (
	"slices"

	"github.com/ambit-dev/ambit/pkg/plan"
)

// allNamespaces is the namespace of a stream that shows the owners of all namespaces.
const allNamespaces = ""

// WatchScope is where a policy's owners may be watched: in single namespaces, or in all of them together,
// which is the empty name. The zero value is nowhere. It is not changed once it was returned.
type WatchScope struct {
	// Watchable are the namespaces in which owners may be watched, in the order in which they were looked
	// at.
	Watchable []string
	// Undecided are the namespaces about which the first answer is not in.
	Undecided []string
	// Problem says why there may be owners that nobody sees; nil if there are none.
	Problem *plan.Problem
}

// CoversNamespace reports whether owners in a namespace are watched, or may yet be.
func (s WatchScope) CoversNamespace(namespace string) bool {
	return slices.Contains(s.Watchable, allNamespaces) || slices.Contains(s.Watchable, namespace) ||
		slices.Contains(s.Undecided, allNamespaces) || slices.Contains(s.Undecided, namespace)
}

// IsDecided reports whether there is an answer about each namespace.
func (s WatchScope) IsDecided() bool { return len(s.Undecided) == 0 }

// streamsAfter returns the namespaces whose streams are to be declared, sorted: those of the scope, and of
// those that there are already the ones about which nothing is decided yet, or all if a stream of all
// namespaces is to take over.
func (s WatchScope) streamsAfter(current map[string]View) []string {
	next := slices.Clone(s.Watchable)
	takesOver := slices.Equal(next, []string{allNamespaces})
	for namespace := range current {
		if !slices.Contains(next, namespace) && (takesOver || slices.Contains(s.Undecided, namespace)) {
			next = append(next, namespace)
		}
	}
	slices.Sort(next)
	return next
}
