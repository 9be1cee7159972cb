// Package prune says in which order objects go that no child of a policy wants any more: which
// go now, which wait for others, which stay because their child keeps them, and why some stay of
// which it is not known.
//
// The package is pure: no I/O, no goroutine, no clock, no log. What is a candidate is package
// plan's decision.
package prune

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/policy"
)

// Candidate is an observed object that is ours, or has fields of ours, and that no child wants.
type Candidate struct {
	GVK    schema.GroupVersionKind
	Object *unstructured.Unstructured
	// Child is the child that it was made for, nil if that is not known any more; ID is
	// that of the child then too.
	Child *policy.Child
	ID    string
	Rank  int
	// Merged: the object is not ours, but has fields of ours.
	Merged bool
}

// Name is as in `Deployment "web"`.
func (c *Candidate) Name() string { return fmt.Sprintf("%s %q", c.GVK.Kind, c.Object.GetName()) }

// Wave is candidates that go at the same time.
type Wave struct {
	Child *policy.Child
	Rank  int
	// Name is that of one of them.
	Name string
	// Suspends says why pruning is suspended where this wave is not gone; empty: it is
	// not suspended, but waits.
	Suspends string
}

// FirstWaves returns, for each candidate, the wave that has to be gone before it; nil for one
// that goes now. hidden are waves of candidates that may be where nothing can be seen, and
// comesFirst reports whether one wave has to be gone before another.
func FirstWaves(candidates []Candidate, hidden []Wave, comesFirst func(first, then Wave) bool) []*Wave {
	waves := deletionWavesOf(candidates, hidden)
	first := make([]*Wave, len(candidates))
	for i := range candidates {
		own := Wave{Child: candidates[i].Child, Rank: candidates[i].Rank}
		if k := slices.IndexFunc(waves, func(w Wave) bool { return comesFirst(w, own) }); k >= 0 {
			first[i] = &waves[k]
		}
	}
	return first
}

// deletionWavesOf returns the hidden waves and those of the candidates, each of these once.
func deletionWavesOf(candidates []Candidate, hidden []Wave) []Wave {
	waves := slices.Clone(hidden)
	for i := range candidates {
		c := &candidates[i]
		if !slices.ContainsFunc(waves, func(w Wave) bool { return w.Child == c.Child && w.Rank == c.Rank }) {
			waves = append(waves, Wave{Child: c.Child, Rank: c.Rank, Name: c.Name()})
		}
	}
	return waves
}

// DropDuplicates keeps one of what was found in several places, sorted. The list is used up.
func DropDuplicates(list []Candidate) []Candidate {
	slices.SortFunc(list, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(a.GVK.Kind, b.GVK.Kind), cmp.Compare(a.GVK.Group, b.GVK.Group),
			cmp.Compare(a.Object.GetNamespace(), b.Object.GetNamespace()), cmp.Compare(a.Object.GetName(), b.Object.GetName()),
			cmp.Compare(a.Object.GetUID(), b.Object.GetUID()), -cmp.Compare(a.Rank, b.Rank))
	})
	return slices.CompactFunc(list, func(a, b Candidate) bool {
		return a.Object.GetUID() == b.Object.GetUID() && a.GVK.GroupKind() == b.GVK.GroupKind()
	})
}
