package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// pruneWave is candidates that go at the same time.
type pruneWave struct {
	of   *child
	rank int
	// name is that of one of them.
	name string
	// suspends says why pruning is suspended where this wave is not gone; empty: it is
	// not suspended, but waits.
	suspends string
}

// waves returns the waves of the candidates, each once.
func (p *pruner) waves() []pruneWave {
	list := slices.Clone(p.hidden)
	for i := range p.candidates {
		l := &p.candidates[i]
		if !slices.ContainsFunc(list, func(t pruneWave) bool { return t.of == l.of && t.rank == l.rank }) {
			list = append(list, pruneWave{of: l.of, rank: l.rank, name: l.name()})
		}
	}
	return list
}

// dependsFirst says whether the candidates of one wave have to be gone before those of
// another, because they depend on them.
func (p *pruner) dependsFirst(first, then pruneWave) bool {
	return first.rank > then.rank && (first.of == nil || then.of == nil || p.dependsOn(first.of, then.of))
}

// dependsOn says whether a child needs another one, by whatever way.
func (p *pruner) dependsOn(c, other *child) bool {
	seen := map[*child]bool{}
	var visit func(c *child) bool
	visit = func(c *child) bool {
		if c == nil || seen[c] {
			return false
		}
		seen[c] = true
		return c == other || slices.ContainsFunc(c.needs(), func(id string) bool { return visit(p.child(id)) })
	}
	return visit(c)
}

// needs are the ids of the children that come before this one.
func (c *child) needs() []string {
	if len(c.Asked) == 0 {
		return c.Children
	}
	return slices.Concat(c.Children, c.Asked)
}

// rank is how many children are in the longest chain of those that come before.
func (p *planner) rank(c *child) int {
	if p.ranks == nil {
		p.ranks = make(map[string]int, len(p.children))
		for i := range p.children { // each comes after all that it depends on
			rank := 0
			for _, id := range p.children[i].needs() {
				if before, ok := p.ranks[id]; ok {
					rank = max(rank, before+1)
				}
			}
			p.ranks[p.children[i].ID] = rank
		}
	}
	return p.ranks[c.ID]
}

// removeCandidates plans what is to be removed now. comesFirst says whether one wave
// has to be gone before another.
func (p *pruner) removeCandidates(comesFirst func(first, then pruneWave) bool) {
	tiers := p.waves()
	for i := range p.candidates {
		l := &p.candidates[i]
		own := pruneWave{of: l.of, rank: l.rank}
		k := slices.IndexFunc(tiers, func(t pruneWave) bool { return comesFirst(t, own) })
		if k < 0 {
			p.removeCandidate(l)
			continue
		}
		if why := tiers[k].suspends; why != "" {
			p.suspended.add(why, 1)
		}
		p.blockers.add(Problem{Reason: v1alpha1.ReasonDeleting,
			Message: fmt.Sprintf("%s, which is no longer wanted, waits for %s to be gone", l.name(), tiers[k].name)})
	}
	slices.SortFunc(p.deletions, func(a, b Action) int {
		return cmp.Or(cmp.Compare(a.GVK.Kind, b.GVK.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// removeCandidate plans one deletion or release, unless it is under way or was refused in
// this pass.
func (p *pruner) removeCandidate(l *pruneCandidate) {
	if isDeleting(l.obj) && !l.merged {
		p.blockers.add(Problem{Reason: v1alpha1.ReasonDeleting, Message: "waiting for " + l.name() + ", which is no longer wanted, to be gone"})
		return
	}
	reason := "is no longer wanted: " + p.whyUnwanted(l)
	a := Action{
		Verb: Delete, GVK: l.gvk, Namespace: l.obj.GetNamespace(), Name: l.obj.GetName(),
		UID: l.obj.GetUID(), ResourceVersion: l.obj.GetResourceVersion(), Reason: reason, Ensured: p.ensures,
	}
	if l.merged {
		a.Verb, a.Manager = Release, p.mergeManager()
		a.Reason = "has fields that are " + reason[len("is "):]
	}
	if _, refused := p.snapshot.Problems[a.Key()]; refused {
		return
	}
	p.blockers.add(Problem{Reason: p.removalReason(), Message: l.name() + " " + a.Reason})
	p.deletions = append(p.deletions, a)
}

// removalReason is the reason of the owner's conditions while something is removed.
func (p *pruner) removalReason() string {
	if p.retired != "" {
		return v1alpha1.ReasonDeleting
	}
	return v1alpha1.ReasonProgressing
}

func (l *pruneCandidate) name() string { return fmt.Sprintf("%s %q", l.gvk.Kind, l.obj.GetName()) }

// whyUnwanted blames the only child of the kind, if it is not wanted.
func (p *pruner) whyUnwanted(l *pruneCandidate) string {
	if p.retired != "" {
		return p.retired
	}
	var only *child
	for i := range p.children {
		if p.children[i].GVK.GroupKind() != l.gvk.GroupKind() {
			continue
		}
		if only != nil {
			return "no child has this name"
		}
		only = &p.children[i]
	}
	switch {
	case only == nil:
		return "the policy has no such child any more"
	case only.unwanted:
		return fmt.Sprintf("%s (child %s)", only.state.Message, only.ID)
	case only.ForEach != nil:
		return fmt.Sprintf("no element of child %s has this name", only.ID)
	}
	return "no child has this name"
}
