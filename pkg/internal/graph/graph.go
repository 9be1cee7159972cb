// Package graph orders what depends on each other. It knows nothing of what the
// ids stand for.
package graph

import (
	"fmt"
	"slices"
	"strings"
)

// CycleError says that ids depend on each other in a circle.
type CycleError struct {
	// Cycle are the ids, each depending on the next; the last is the first again.
	Cycle []string
}

// Error implements error.
func (e *CycleError) Error() string {
	return fmt.Sprintf("a cycle of dependencies: %s", strings.Join(e.Cycle, " -> "))
}

// OrderByDependency returns ids so that each comes after all that it depends on. Each time it
// takes the first of ids that depends on nothing still missing, so that ids keep
// the order given where they can. deps lists for an id those that it depends on;
// what is not among ids is ignored there, as is what is repeated. Neither
// argument is changed.
//
// The error is a *CycleError with a smallest cycle: of several the one with the
// earliest of ids, which it begins with.
//
// The cost is the square of the number of ids at worst, times their dependencies.
func OrderByDependency(ids []string, deps map[string][]string) ([]string, error) {
	s := sorter{deps: deps, left: map[string]bool{}}
	for _, id := range ids {
		s.left[id] = true
	}
	ordered := make([]string, 0, len(ids))
	for len(s.left) > 0 {
		next := slices.IndexFunc(ids, s.isFree)
		if next < 0 {
			return nil, &CycleError{Cycle: s.smallestCycle(ids)}
		}
		ordered = append(ordered, ids[next])
		delete(s.left, ids[next])
	}
	return ordered, nil
}

type sorter struct {
	deps map[string][]string
	left map[string]bool // not ordered yet
}

// isFree says whether an id is left and depends on nothing that is left.
func (s sorter) isFree(id string) bool {
	return s.left[id] && !slices.ContainsFunc(s.deps[id], func(dep string) bool { return s.left[dep] })
}

func (s sorter) smallestCycle(ids []string) []string {
	var smallest []string
	for _, id := range ids {
		if !s.left[id] {
			continue
		}
		if cycle := s.cycleFrom(id); cycle != nil && (smallest == nil || len(cycle) < len(smallest)) {
			smallest = cycle
		}
	}
	return smallest
}

// cycleFrom returns a shortest way from an id back to it, breadth first; nil if
// there is none.
func (s sorter) cycleFrom(start string) []string {
	ways := [][]string{{start}}
	seen := map[string]bool{}
	for len(ways) > 0 {
		way := ways[0]
		ways = ways[1:]
		for _, dep := range s.deps[way[len(way)-1]] {
			if dep == start {
				return append(way, start)
			}
			if s.left[dep] && !seen[dep] {
				seen[dep] = true
				ways = append(ways, append(slices.Clip(way), dep))
			}
		}
	}
	return nil
}
