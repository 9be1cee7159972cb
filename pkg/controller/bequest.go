package controller

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/access"
)

// bequest is what an older version of a policy knew of a place.
type bequest struct {
	answer *rights
	told   *rights // what was acted upon last
	logged string  // what was logged to be missing
	// asked is what was asked about all namespaces at first, of which it has turned out
	// that not everything is permitted; nil otherwise.
	asked []access.Access
}

// narrowedFrom is what was asked about all namespaces at first, if that has turned out
// not to be permitted; else nil.
func (op *operator) narrowedFrom() []access.Access {
	op.mu.Lock()
	a, asked := op.asked[allNamespaces]
	whole := asked && a.extent == everything
	before := op.bequests[allNamespaces].asked
	op.mu.Unlock()
	switch {
	case !asked:
		return before
	case whole:
		return nil
	}
	return op.everythingAsked()
}

// everythingAsked is what is asked about all namespaces at first.
func (op *operator) everythingAsked() []access.Access {
	needs, _ := op.needs()
	list, _ := op.accesses(needs, allNamespaces, everything, nil)
	return list
}

// isKnownNarrow says whether an older version has found that not everything is permitted
// in all namespaces, of the same that this one would ask.
func (op *operator) isKnownNarrow() bool {
	op.mu.Lock()
	before := op.bequests[allNamespaces].asked
	op.mu.Unlock()
	return before != nil && slices.Equal(before, op.everythingAsked())
}

// wasDenied says whether an older version found that a resource may not be watched in all
// namespaces together, as long as this one has not asked for that.
func (op *operator) wasDenied(resource schema.GroupResource) bool {
	op.mu.Lock()
	defer op.mu.Unlock()
	before, mine := op.bequests[allNamespaces].answer, op.asked[allNamespaces]
	if before == nil || before.mayWatch(resource) {
		return false
	}
	return mine == nil || !slices.Contains(mine.accesses, reading(resource)[0])
}
