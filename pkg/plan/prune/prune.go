// Package prune says in which order objects go that no child of a policy wants any more: which
// go now, which wait for others, and which stay because their child keeps some.
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
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/plan/objectmeta"
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

// KeepNewest takes the newest candidates of a child out, as many as it keeps. The list is used
// up.
func KeepNewest(list []Candidate, child *policy.Child) []Candidate {
	if child.Keep == 0 || len(list) == 0 {
		return list
	}
	stay := newestOf(list, child)
	return slices.DeleteFunc(list, func(c Candidate) bool { return stay[c.Object.GetUID()] })
}

// newestOf returns the newest candidates of a child, as many as it keeps.
func newestOf(candidates []Candidate, child *policy.Child) map[types.UID]bool {
	var list []*unstructured.Unstructured
	for _, c := range candidates {
		if c.Child == child && !c.Merged && !objectmeta.IsDeleting(c.Object) {
			list = append(list, c.Object)
		}
	}
	made := func(obj *unstructured.Unstructured) string {
		return objectmeta.TextOf(objectmeta.FieldAt(obj.Object, "metadata", "creationTimestamp"))
	}
	slices.SortFunc(list, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(-cmp.Compare(made(a), made(b)), cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	stay := map[types.UID]bool{}
	for _, obj := range list[:min(child.Keep, len(list))] {
		stay[obj.GetUID()] = true
	}
	return stay
}
