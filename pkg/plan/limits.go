package plan

import (
	"fmt"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/desired"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// The limits of what one owner may have.
const (
	// MaxElements is how many elements the list of a forEach may have.
	MaxElements = 1000
	// MaxObjects is how many objects may be rendered: the inventory holds all of them, and as
	// many that are not wanted any more.
	MaxObjects = inventory.MaxEntries / 2
	// MaxObjectBytes is how large one of them may be, as JSON.
	MaxObjectBytes = 1 << 20
	// MaxDepth is how deep one of them may be nested. It may come from an owner or a
	// watched object, which may be as deep as the API server allows: those are read, at a
	// cost that grows with their size alone.
	MaxDepth = syntax.MaxDepth
	// MaxGenerations is how many owners of a policy may make each other: where a child may be
	// an owner of the same policy, an owner of the last generation makes no more such children.
	MaxGenerations = 5
	// MaxChain is how many owners of any policies may make each other: an owner of that
	// generation makes nothing. It is more than policies that build on each other need.
	MaxChain = 10
	// MaxBytes is how large all of them may be.
	MaxBytes = 64 << 20
)

// renderedSize is what was rendered so far.
type renderedSize struct{ objects, bytes int }

// addObject counts an object, and says if it is one too many, or too large.
func (s *renderedSize) addObject(c *child, it *instance, object map[string]any) *Problem {
	bytes, depth := desired.SizeOf(object)
	s.objects++
	s.bytes += bytes
	switch {
	case depth > MaxDepth:
		return limitProblem(fmt.Sprintf("child %q: %s is nested %d deep", c.ID, c.objectName(it), depth), MaxDepth)
	case bytes > MaxObjectBytes:
		return limitProblem(fmt.Sprintf("child %q: %s has %d bytes", c.ID, c.objectName(it), bytes), MaxObjectBytes)
	case s.objects > MaxObjects:
		return limitProblem("the owner has too many children", MaxObjects)
	case s.bytes > MaxBytes:
		return limitProblem("the children of the owner are too large together", MaxBytes)
	}
	return nil
}

func limitProblem(what string, limit int) *Problem {
	return &Problem{Reason: v1alpha1.ReasonLimitExceeded, Terminal: true, Message: fmt.Sprintf("%s; the limit is %d", what, limit)}
}

// lastGeneration is the problem of an owner that makes no more owners, or nothing more; nil
// if it may.
func (s *subject) lastGeneration(c *child, it *instance) *Problem {
	n := s.ownerGeneration()
	switch {
	case n < MaxGenerations || it.ownership == mergedInto || !c.MayOwn && n < MaxChain:
		return nil
	case !c.MayOwn:
		return limitProblem(fmt.Sprintf("child %q: %s would be of generation %d of owners that made each other, by this policy and by others; "+
			"give spec.owner.selector of one of the policies a label that the children of the others do not have", c.ID, c.objectName(it), n+1), MaxChain)
	}
	return limitProblem(fmt.Sprintf("child %q: %s may be an owner of policy %q itself, and this owner is of generation %d of owners that made each other; "+
		"give spec.owner.selector of the policy a label that its children do not have", c.ID, c.objectName(it), s.program.Name, n), MaxGenerations)
}
