package plan

import (
	"context"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/meter"
	"github.com/ambit-dev/ambit/pkg/internal/timing"
	"github.com/ambit-dev/ambit/pkg/plan/bindings"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/plan/objectmeta"
	"github.com/ambit-dev/ambit/pkg/plan/prune"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// Make plans for one owner. It never fails: what fails is in the plan. ctx only
// bounds the evaluation of expressions; all of one plan share a meter.Budget. Neither
// the program nor the snapshot is changed; Make is safe for concurrent use.
//
// A suspended policy gives an empty plan: nothing is to be written, not even a
// status. So does an owner that is being deleted and does not have our finalizer,
// but for Done. As long as there is the record of another policy on the owner, nothing
// is done but to say so.
func Make(ctx context.Context, program *policy.Program, s Snapshot) *Plan {
	return Begin(ctx, program, s).Finish(ctx)
}

// Draft is a plan that says what to do, and how the owner fares once it is finished. It belongs to the
// caller, and is for one goroutine.
type Draft struct {
	*Plan
	budget *meter.Budget
	report *reporter // nil: it is finished
}

// Begin is Make without Status, Conditions, Partial, RequeueAfter and Blockers, but where these need no
// expressions: a draft that IsFinished has them. Wake may come to be earlier.
func Begin(ctx context.Context, program *policy.Program, s Snapshot) *Draft {
	d := &Draft{budget: meter.NewBudget(0, 0)}
	ctx = meter.WithBudget(ctx, d.budget)
	p := newPlanner(ctx, program, s)
	d.Plan, d.report = p.makePlan(ctx)
	d.Former, d.Wake = p.former, p.clock.EarliestWake()
	return d
}

// IsFinished reports whether nothing is left to evaluate.
func (d *Draft) IsFinished() bool { return d.report == nil }

// Finish returns the plan as Make makes it: that of Begin, which gets what it lacks. It may be called again. The
// snapshot's Problems and ServerNormalized are not read, and may have changed since Begin.
func (d *Draft) Finish(ctx context.Context) *Plan {
	if d.report != nil {
		d.report.finishPlan(meter.WithBudget(ctx, d.budget), d.Plan)
		d.Wake = d.report.clock.EarliestWake()
		d.report = nil
	}
	return d.Plan
}

func newPlanner(ctx context.Context, program *policy.Program, s Snapshot) *planner {
	clock := timing.NewClock(s.Now)
	return &planner{
		clock: clock,
		subject: subject{
			program: program, specs: program.Children, part: "children", snapshot: s, owner: s.Owner.GetUID(),
			namespace: s.Owner.GetNamespace(), inventory: inventory.Update{Stored: inventory.ReadStored(program, s.Owner)},
		},
		scope: bindings.BindOwner(ctx, program, s.Owner, clock), former: s.Former, graph: prune.NewGraph(program.Children),
	}
}

// makePlan returns the plan, and what has yet to finish it; nil: nothing.
func (p *planner) makePlan(ctx context.Context) (*Plan, *reporter) {
	switch deleting := objectmeta.IsDeleting(p.snapshot.Owner); {
	case p.program.Suspend:
		return &Plan{}, nil
	case deleting && !p.inventory.HasFinalizer:
		return &Plan{Done: true}, nil
	case deleting || p.snapshot.Retire:
		return (&pruner{planner: p}).cleanUp(ctx), nil
	case p.program.CleanupOnly != nil:
		return &Plan{}, nil
	case p.inventory.OtherPolicy != "":
		return newReporter(p).yieldTo(ctx, p.inventory.OtherPolicy), nil
	}
	p.resolveChildren(ctx)
	(&pruner{planner: p}).pruneUnwanted(ctx)
	(&inventoryPlanner{planner: p}).planOwnerMetadata()
	p.collectActions()
	r := newReporter(p)
	r.gatherBlockers()
	r.forgetBlocked()
	if r.isExpired(ctx) {
		return &Plan{Expire: true, Children: p.childStates(), Queries: p.queries}, r
	}
	return &Plan{Actions: p.actions, Children: p.childStates(), Queries: p.queries, OwnerMetadata: p.ownerMetadata}, r
}

// collectActions gathers the actions that may be carried out now: those that need the
// owner's metadata to say something wait until it does.
func (p *planner) collectActions() {
	for i := range p.children {
		c := &p.children[i]
		for k := range c.instances {
			if it := &c.instances[k]; it.action != nil && !p.isHeldBack(c, it) {
				p.actions = append(p.actions, *it.action)
			}
		}
	}
	p.actions = append(p.actions, p.deletions...)
}

// Ensure plans for the objects of the policy itself. Snapshot.Owner is nil; with
// Retire they are deleted, but for those with onDelete Orphan. The plan has no
// status and no conditions: what is wrong is in Blockers. What the policy no longer
// ensures is found as long as it has other objects of the kind in that place.
func Ensure(ctx context.Context, program *policy.Program, s Snapshot) *Plan {
	if program.Suspend || program.CleanupOnly != nil {
		return &Plan{}
	}
	ctx = meter.WithBudget(ctx, meter.NewBudget(0, 0))
	p := &planner{
		subject: subject{program: program, specs: program.Ensured, part: "ensure", ensures: true, snapshot: s, namespace: program.Namespace},
		scope:   bindings.BindPolicy(program), graph: prune.NewGraph(program.Ensured),
	}
	p.resolveChildren(ctx)
	if s.Retire {
		p.retireEnsured()
	}
	r := &pruner{planner: p}
	r.pruneUnwanted(ctx)
	p.collectActions()
	newReporter(p).gatherBlockers()
	return &Plan{
		Actions: p.actions, Children: p.childStates(), Queries: p.queries, Blockers: p.blockers.Sorted(),
		Done: s.Retire && len(r.candidates) == 0 && p.blockers.IsEmpty(),
	}
}

// retireEnsured lets no object be wanted any more; where they are is known.
func (p *planner) retireEnsured() {
	p.retired = "the policy is cleaned up"
	p.names = wantedNames{}
	for i := range p.children {
		c := &p.children[i]
		c.problem = nil
		c.markUnwanted(p.retired)
		for k := range c.instances {
			at := c.instances[k].at
			c.instances[k] = instance{state: ChildState{ID: c.ID, Name: c.instances[k].state.Name, Namespace: at.Namespace, State: Absent}, at: at}
		}
	}
}
