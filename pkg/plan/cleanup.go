package plan

import (
	"context"
	"fmt"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// cleanUp plans for an owner that is deleted or retired. But for protect it needs
// no expression: what there is to do is in the inventory and in the places of the
// children.
func (p *pruner) cleanUp(ctx context.Context) *Plan {
	p.retired = "the policy does not want this owner any more"
	if !p.snapshot.Retire {
		p.retired = "its owner is being deleted"
		r := &reporter{planner: p.planner}
		if problem := r.protected(ctx); problem != nil {
			return r.protectedPlan(ctx, problem)
		}
	}
	p.forgetChildren()
	p.listQueries()
	if p.inventory.Err != nil {
		p.blockers.add(*p.inventory.problem())
		return p.cleanupPlan(ctx, false)
	}
	gone := p.findEntries()
	if p.removesAll() {
		gone = p.findObjects() && gone
	}
	p.dropDuplicates()
	p.removeCandidates(func(first, then pruneWave) bool {
		return p.program.Deletion == v1alpha1.DeletionOrdered && first.rank > then.rank
	})
	p.actions = p.deletions
	return p.cleanupPlan(ctx, gone && len(p.candidates) == 0)
}

// removesAll says whether also that is removed here which garbage collection would
// take.
func (p *planner) removesAll() bool {
	return p.snapshot.Retire || p.program.Deletion == v1alpha1.DeletionOrdered
}

// forgetChildren starts anew, with children of which none is wanted.
func (p *pruner) forgetChildren() {
	p.children = make([]child, len(p.specs))
	for i, c := range p.specs {
		p.children[i] = child{Child: c, state: ChildState{ID: c.ID}, unwanted: true}
	}
	p.names, p.queries = names{}, nil
}

// findEntries finds what the inventory has. It returns false if something of it
// cannot be seen. What stays of the inventory is in next of the inventory.
func (p *pruner) findEntries() bool {
	all := true
	for _, e := range p.inventory.Entries {
		stays := true
		switch in := p.inputAt(p.atOf(e), e.GVK); {
		case !p.matters(e):
			stays = false
		case p.inventory.waits(e):
			all = false
		case e.IsPlace(): // what is in it has an ownerReference
			stays = in.Blocked != nil && !in.Blocked.Gone || p.holdsUnwanted(e, in)
		case in.Blocked != nil:
			gone := p.noteHidden(Query{Location: p.atOf(e), GVK: e.GVK}, in.Blocked, e.Rank)
			all, stays = gone && all, !gone
		default:
			stays = p.findEntry(e, in)
		}
		if stays {
			p.inventory.next = append(p.inventory.next, e)
		}
	}
	return all
}

// findEntry reports whether the object of an entry is there, to be removed.
func (p *pruner) findEntry(e inventory.Entry, in Input) bool {
	obj := p.indexes.find(in.Objects, e.Namespace, e.Name)
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
			rank := 0
			if c := p.child(w.Child); c != nil {
				rank = p.rank(c)
			}
			all = p.noteHidden(w, in.Blocked, rank) && all
			continue
		}
		p.pruneAt(w)
	}
	return all
}

// noteHidden notes that a place cannot be seen, and returns whether that does not
// matter: of a kind that is served in no version there is no object.
func (p *pruner) noteHidden(w Query, problem *Problem, rank int) bool {
	if problem.Gone {
		p.blockers.add(Problem{Reason: problem.Reason, Message: problem.Message + ": its objects are taken for gone"})
		return true
	}
	p.blockers.add(*problem)
	p.hidden = append(p.hidden, pruneWave{of: p.child(w.Child), rank: rank, name: fmt.Sprintf("objects of kind %s, which cannot be seen,", w.GVK.Kind)})
	return false
}

// cleanupPlan makes the plan; gone says that nothing is left.
func (p *pruner) cleanupPlan(ctx context.Context, gone bool) *Plan {
	plan := &Plan{Actions: p.actions, Partial: true, Queries: p.queries}
	switch waiting := len(p.inventory.waiting); {
	case gone:
		p.setOwnerMetadata(false, "")
		plan.Done = !p.inventory.IsMarked()
	case waiting > 0: // their turn comes when what is gone is off the record
		inv := p.inventory.Inventory
		inv.Entries = p.inventory.next
		p.setOwnerMetadata(p.inventory.HasFinalizer, inv.String())
		p.blockers.add(Problem{Reason: v1alpha1.ReasonDeleting, Message: fmt.Sprintf("%d more places on record are looked at when the first ones are empty", waiting)})
	}
	plan.OwnerMetadata = p.ownerMetadata
	for i := range p.candidates {
		plan.Children = append(plan.Children, p.candidates[i].state())
	}
	p.eachWritten(p.blockers.add)
	if !plan.Done && len(p.blockers.list) == 0 {
		p.blockers.add(Problem{Reason: v1alpha1.ReasonDeleting, Message: "all children are gone"})
	}
	return (&reporter{planner: p.planner}).sayCleanup(ctx, plan)
}

// sayCleanup adds what is said of a deleted owner; of one that is only retired, the status
// is no longer ours.
func (p *reporter) sayCleanup(ctx context.Context, plan *Plan) *Plan {
	plan.Blockers = p.blockers.sorted()
	if !p.snapshot.Retire && !p.program.Owner.SkipStatus && !plan.Done {
		plan.Conditions = p.conditions(ctx, true, true)
	}
	return plan
}

func (l *pruneCandidate) state() ChildState {
	s := ChildState{ID: l.id, Name: l.obj.GetName(), Namespace: l.obj.GetNamespace(), State: Deleting, Reason: v1alpha1.ReasonDeleting}
	if l.merged {
		s.Message = "the fields that were merged into it are taken back"
	}
	return s
}

// yieldTo waits for another policy to clean up after the owner. Whether that policy is
// still run nobody knows here; if it stays for longer than a moment, somebody has to act.
func (p *reporter) yieldTo(ctx context.Context, other string) *Plan {
	message := "policy %q has not cleaned up after this owner yet (annotation %s): waiting for it; if policy %q is gone, run: ambit cleanup -f <the file of policy %s>"
	if p.snapshot.OtherStays {
		message = "policy %q works on this owner and has children on record (annotation %s), so that this policy does not: let only one of the two select it, by owner.selector, owner.filter or scope; " +
			"if policy %q is gone, run: ambit cleanup -f <the file of policy %s>"
	}
	p.blockers.add(Problem{Reason: v1alpha1.ReasonOtherPolicy, Terminal: p.snapshot.OtherStays,
		Message: fmt.Sprintf(message, other, v1alpha1.AnnotationChildren, other, other)})
	return p.sayCleanup(ctx, &Plan{Partial: true, Foreign: other})
}
