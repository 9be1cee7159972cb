package plan

import (
	"context"
	"fmt"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/plan/prune"
)

// cleanUp plans for an owner that is deleted or retired. But for protect it needs
// no expression: what there is to do is in the inventory and in the places of the
// children.
func (p *pruner) cleanUp(ctx context.Context) *Plan {
	p.retired = "the policy does not want this owner any more"
	if !p.snapshot.Retire {
		p.retired = "its owner is being deleted"
		r := newReporter(p.planner)
		if problem := r.checkProtection(ctx); problem != nil {
			return r.protectedPlan(ctx, problem)
		}
	}
	p.forgetChildren()
	p.listQueries()
	if p.inventory.Err != nil {
		p.blockers.Add(*p.inventoryProblem())
		return p.cleanupPlan(ctx, false)
	}
	gone := p.findEntries()
	if p.removesAll() {
		gone = p.findObjects() && gone
	}
	p.candidates = prune.DropDuplicates(p.candidates)
	p.removeCandidates(func(first, then prune.Wave) bool {
		return p.program.Deletion == v1alpha1.DeletionOrdered && first.Rank > then.Rank
	})
	p.actions = p.deletions
	return p.cleanupPlan(ctx, gone && len(p.candidates) == 0)
}

// forgetChildren starts anew, with children of which none is wanted.
func (p *pruner) forgetChildren() {
	p.children = make([]child, len(p.specs))
	for i, c := range p.specs {
		p.children[i] = child{Child: c, state: ChildState{ID: c.ID}, unwanted: true}
	}
	p.names, p.queries = wantedNames{}, nil
}

// findEntries finds what the inventory has. It returns false if something of it
// cannot be seen. What stays of the inventory is in next of the inventory.
func (p *pruner) findEntries() bool {
	all := true
	for _, e := range p.inventory.Entries {
		stays := true
		switch in := p.inputAt(p.locationOf(e), e.GVK); {
		case !p.isRelevant(e):
			stays = false
		case p.inventory.IsWaiting(e):
			all = false
		case e.IsPlace(): // what is in it has an ownerReference
			stays = in.Blocked != nil && !in.Blocked.Gone || p.holdsUnwanted(e, in)
		case in.Blocked != nil:
			gone := p.noteHidden(Query{Location: p.locationOf(e), GVK: e.GVK}, in.Blocked, e.Rank)
			all, stays = gone && all, !gone
		default:
			stays = p.findEntry(e, in)
		}
		if stays {
			p.inventory.Next = append(p.inventory.Next, e)
		}
	}
	return all
}

// findEntry reports whether the object of an entry is there, to be removed.
func (p *pruner) findEntry(e inventory.Entry, in Input) bool {
	obj := p.indexes.FindObject(in.Objects, e.Namespace, e.Name)
	if obj == nil || !p.isEntered(e, obj) || p.isLeft(e, obj) {
		return false
	}
	p.addCandidate(e.GVK, obj, &e)
	return true
}

// findObjects finds what has an ownerReference. It returns false if something of it
// cannot be seen.
func (p *pruner) findObjects() bool {
	all := true
	for _, w := range p.queries {
		if w.Names != nil {
			continue
		}
		if in := p.inputAt(w.Location, w.GVK); in.Blocked != nil {
			all = p.noteHidden(w, in.Blocked, p.graph.RankOf(w.Child)) && all
			continue
		}
		p.pruneLocation(w)
	}
	return all
}

// noteHidden notes that a place cannot be seen, and returns whether that does not
// matter: of a kind that is served in no version there is no object.
func (p *pruner) noteHidden(w Query, problem *Problem, rank int) bool {
	if problem.Gone {
		p.blockers.Add(Problem{Reason: problem.Reason, Message: problem.Message + ": its objects are taken for gone"})
		return true
	}
	p.blockers.Add(*problem)
	p.hidden = append(p.hidden, prune.Wave{Child: p.findSpec(w.Child), Rank: rank, Name: fmt.Sprintf("objects of kind %s, which cannot be seen,", w.GVK.Kind)})
	return false
}

// cleanupPlan makes the plan; gone says that nothing is left.
func (p *pruner) cleanupPlan(ctx context.Context, gone bool) *Plan {
	plan := &Plan{Actions: p.actions, Partial: true, Queries: p.queries}
	switch waiting := p.inventory.CountWaiting(); {
	case gone:
		p.setOwnerMetadata(false, "")
		plan.Done = !p.inventory.IsMarked()
	case waiting > 0: // their turn comes when what is gone is off the record
		inv := p.inventory.Inventory
		inv.Entries = p.inventory.Next
		p.setOwnerMetadata(p.inventory.HasFinalizer, inv.String())
		p.blockers.Add(Problem{Reason: v1alpha1.ReasonDeleting, Message: fmt.Sprintf("%d more places on record are looked at when the first ones are empty", waiting)})
	}
	plan.OwnerMetadata = p.ownerMetadata
	for i := range p.candidates {
		plan.Children = append(plan.Children, candidateState(&p.candidates[i]))
	}
	p.eachWritten(p.blockers.Add)
	if !plan.Done && p.blockers.IsEmpty() {
		p.blockers.Add(Problem{Reason: v1alpha1.ReasonDeleting, Message: "all children are gone"})
	}
	return newReporter(p.planner).sayCleanup(ctx, plan)
}
