package ownerviews

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// CurrentViews returns the streams by namespace. The map is not to be changed.
func (v *Views) CurrentViews() map[string]View {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.current
}

// ViewOf returns the stream that shows the owners of a namespace, which is its own or that of all
// namespaces; nil if there is none.
func (v *Views) ViewOf(namespace string) View {
	current := v.CurrentViews()
	return current[streamOf(current, namespace)]
}

// StreamOf returns the namespace of the stream that shows the owners of a namespace: itself, or all
// namespaces, also if there is no such stream.
func (v *Views) StreamOf(namespace string) string { return streamOf(v.CurrentViews(), namespace) }

func streamOf(views map[string]View, namespace string) string {
	if _, ok := views[namespace]; ok {
		return namespace
	}
	return allNamespaces
}

// IsSeen reports whether there is a stream that shows the owners of a namespace.
func (v *Views) IsSeen(namespace string) bool { return v.ViewOf(namespace) != nil }

// ReadOwner returns an owner as its stream shows it, or nil if it does not, and the stream. Live is false
// if the stream is not, so that nothing can be concluded from the owner's absence.
func (v *Views) ReadOwner(namespace, name string) (owner *unstructured.Unstructured, from View, live bool) {
	from = v.ViewOf(namespace)
	if from == nil || !from.Status().Synced {
		return nil, from, false
	}
	owner = from.Get(namespace, name)
	// A stream that was refused in between has lost its objects.
	return owner, from, owner != nil || from.Status().Synced
}

// SharesWatches reports whether the owners of a namespace share their watches.
func (v *Views) SharesWatches(namespace string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.groups.IsShared(namespace)
}

// IsSpread reports whether the owners are in so many namespaces that what all of them have is better watched in
// all namespaces together.
func (v *Views) IsSpread() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.isSpread
}

// IsOutside reports whether owners in a namespace are not watched, and will not be. It is false before the
// first streams are installed.
func (v *Views) IsOutside(namespace string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.adopted != nil && !v.scope.CoversNamespace(namespace)
}

// HasListed reports whether it is known where owners may be watched, and each stream has delivered its
// first list. With refused a stream that was refused for good counts as well.
func (v *Views) HasListed(refused bool) bool {
	v.mu.Lock()
	known, current := v.isResolved && v.adopted != nil, v.current
	v.mu.Unlock()
	for _, view := range current {
		status := view.Status()
		known = known && (status.Synced || refused && status.State.IsFinal())
	}
	return known
}

// SeesNowhere reports whether it is known that owners may be watched in none of the namespaces in which
// they are looked for. It is false if there is no such namespace.
func (v *Views) SeesNowhere() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.isResolved && len(v.current) == 0 && len(v.candidates) > 0
}

// CountOwners returns for how many of the owners that the streams show counts is true, and whether these
// are all the owners that there are: it is known where owners may be watched, and each stream is there
// and has its first list. counts is called under no lock of v.
func (v *Views) CountOwners(counts func(owner *unstructured.Unstructured) bool) (n int, complete bool) {
	v.mu.Lock()
	current, scope, complete := v.current, v.scope, v.isResolved
	v.mu.Unlock()
	for _, namespace := range scope.Watchable { // that of all namespaces is not installed before its first list is in
		_, seen := current[namespace]
		complete = complete && seen
	}
	for _, view := range current {
		listed, status := view.Read()
		complete = complete && status.Synced
		for _, owner := range listed {
			if counts(owner) {
				n++
			}
		}
	}
	return n, complete
}

// Serving is what a policy serves, for messages.
type Serving struct {
	// Namespaces are those of the streams, sorted; "all" is all of them together.
	Namespaces []string
	// Owners is how many owners the streams show, Candidates in how many namespaces owners are looked for
	// one by one.
	Owners, Candidates int
}

// DescribeServing returns what the policy serves; false: a stream is neither synced nor refused for good.
func (v *Views) DescribeServing() (s Serving, known bool) {
	v.mu.Lock()
	current := v.current
	s.Candidates = len(v.candidates)
	v.mu.Unlock()
	for namespace, view := range current {
		listed, status := view.Read()
		if !status.Synced && !status.State.IsFinal() {
			return Serving{}, false
		}
		s.Owners += len(listed)
		s.Namespaces = append(s.Namespaces, cmp.Or(namespace, "all"))
	}
	slices.Sort(s.Namespaces)
	return s, true
}

// KnownCandidates returns what SetCandidates was given last. It is not to be changed.
func (v *Views) KnownCandidates() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.candidates
}

// IsCandidate reports whether owners are looked for in a namespace by itself.
func (v *Views) IsCandidate(namespace string) bool {
	return slices.Contains(v.KnownCandidates(), namespace)
}

// HasServed reports whether an owner was ever seen in a namespace.
func (v *Views) HasServed(namespace string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.served[namespace]
}

// servedNamespaces returns the namespaces in which an owner was ever seen, sorted.
func (v *Views) servedNamespaces() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Sorted(maps.Keys(v.served))
}
