package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/objectmeta"
	"github.com/ambit-dev/ambit/pkg/plan/prune"
)

// removeCandidates plans what is to be removed now. comesFirst says whether one wave
// has to be gone before another.
func (p *pruner) removeCandidates(comesFirst func(first, then prune.Wave) bool) {
	for i, first := range prune.FirstWaves(p.candidates, p.hidden, comesFirst) {
		c := &p.candidates[i]
		if first == nil {
			p.removeCandidate(c)
			continue
		}
		if first.Suspends != "" {
			p.suspended.NoteReason(first.Suspends, 1)
		}
		p.blockers.Add(Problem{Reason: v1alpha1.ReasonDeleting,
			Message: fmt.Sprintf("%s, which is no longer wanted, waits for %s to be gone", c.Name(), first.Name)})
	}
	slices.SortFunc(p.deletions, func(a, b Action) int {
		return cmp.Or(cmp.Compare(a.GVK.Kind, b.GVK.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// removeCandidate plans one deletion or release, unless it is under way or was refused in
// this pass.
func (p *pruner) removeCandidate(c *prune.Candidate) {
	if objectmeta.IsDeleting(c.Object) && !c.Merged {
		p.blockers.Add(Problem{Reason: v1alpha1.ReasonDeleting, Message: "waiting for " + c.Name() + ", which is no longer wanted, to be gone"})
		return
	}
	reason := "is no longer wanted: " + p.whyUnwanted(c)
	a := Action{
		Verb: Delete, GVK: c.GVK, Namespace: c.Object.GetNamespace(), Name: c.Object.GetName(),
		UID: c.Object.GetUID(), ResourceVersion: c.Object.GetResourceVersion(), Reason: reason, Ensured: p.ensures,
	}
	if c.Merged {
		a.Verb, a.Manager = Release, p.mergeManager()
		a.Reason = "has fields that are " + reason[len("is "):]
	}
	if _, refused := p.snapshot.Problems[a.Key()]; refused {
		return
	}
	p.blockers.Add(Problem{Reason: p.removalReason(), Message: c.Name() + " " + a.Reason})
	p.deletions = append(p.deletions, a)
}

// removalReason is the reason of the owner's conditions while something is removed.
func (p *pruner) removalReason() string {
	if p.retired != "" {
		return v1alpha1.ReasonDeleting
	}
	return v1alpha1.ReasonProgressing
}

// whyUnwanted blames the only child of the kind, if it is not wanted.
func (p *pruner) whyUnwanted(c *prune.Candidate) string {
	if p.retired != "" {
		return p.retired
	}
	var only *child
	for i := range p.children {
		if p.children[i].GVK.GroupKind() != c.GVK.GroupKind() {
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
	case only.KeepWhen != nil:
		return fmt.Sprintf("no element of child %s has this name, and its keepWhen is false", only.ID)
	case only.ForEach != nil:
		return fmt.Sprintf("no element of child %s has this name", only.ID)
	}
	return "no child has this name"
}
