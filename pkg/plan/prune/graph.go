package prune

import (
	"slices"

	"github.com/ambit-dev/ambit/pkg/policy"
)

// Graph is the order of the children of a policy: which come before which. It belongs to one
// goroutine.
type Graph struct {
	children []*policy.Child
	// ranks are by child id, made when they are first needed.
	ranks map[string]int
}

// NewGraph returns the graph of children, of which each comes after all that it depends on.
func NewGraph(children []*policy.Child) *Graph { return &Graph{children: children} }

// RankOf returns how many children are in the longest chain of those that come before a child.
func (g *Graph) RankOf(id string) int {
	if g.ranks == nil {
		g.ranks = make(map[string]int, len(g.children))
		for _, c := range g.children {
			rank := 0
			for _, id := range dependenciesOf(c) {
				if before, ok := g.ranks[id]; ok {
					rank = max(rank, before+1)
				}
			}
			g.ranks[c.ID] = rank
		}
	}
	return g.ranks[id]
}

// DependsFirst reports whether the candidates of one wave have to be gone before those of
// another, because they depend on them. What was made for a child that is not known any more may
// depend on all of a lower rank.
func (g *Graph) DependsFirst(first, then Wave) bool {
	return first.Rank > then.Rank && (first.Child == nil || then.Child == nil || g.dependsOn(first.Child, then.Child))
}

// dependsOn reports whether a child needs another one, by whatever way.
func (g *Graph) dependsOn(c, other *policy.Child) bool {
	seen := map[*policy.Child]bool{}
	var visit func(c *policy.Child) bool
	visit = func(c *policy.Child) bool {
		if c == nil || seen[c] {
			return false
		}
		seen[c] = true
		return c == other || slices.ContainsFunc(dependenciesOf(c), func(id string) bool { return visit(policy.FindChild(g.children, id)) })
	}
	return visit(c)
}

// dependenciesOf returns the ids of the children that come before a child.
func dependenciesOf(c *policy.Child) []string {
	if len(c.Asked) == 0 {
		return c.Children
	}
	return slices.Concat(c.Children, c.Asked)
}
