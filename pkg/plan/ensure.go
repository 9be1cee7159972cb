package plan

import (
	"context"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// Ensure plans for the objects of the policy itself. Snapshot.Owner is nil; with
// Retire they are deleted, but for those with onDelete Orphan. The plan has no
// status and no conditions: what is wrong is in Blockers. What the policy no longer
// ensures is found as long as it has other objects of the kind in that place.
func Ensure(ctx context.Context, program *policy.Program, s Snapshot) *Plan {
	if program.Suspend || program.CleanupOnly != nil {
		return &Plan{}
	}
	ctx = sandbox.WithBudget(ctx, sandbox.NewBudget(0, 0))
	vars := cel.Activation{"policy": map[string]any{"name": program.Name, "namespace": program.Namespace}}
	p := &planner{
		subject: subject{program: program, specs: program.Ensured, part: "ensure", ensures: true, snapshot: s, namespace: program.Namespace},
		scope:   scope{program: program, vars: vars},
	}
	p.resolveChildren(ctx)
	if s.Retire {
		p.retireEnsured()
	}
	r := &pruner{planner: p}
	r.prune()
	p.collectActions()
	(&reporter{planner: p}).gather()
	return &Plan{
		Actions: p.actions, Children: p.states(), Queries: p.queries, Blockers: p.blockers.sorted(),
		Done: s.Retire && len(r.candidates) == 0 && len(p.blockers.list) == 0,
	}
}

// retireEnsured lets no object be wanted any more; where they are is known.
func (p *planner) retireEnsured() {
	p.retired = "the policy is cleaned up"
	p.names = names{}
	for i := range p.children {
		c := &p.children[i]
		c.problem = nil
		c.drop(p.retired)
		for k := range c.instances {
			at := c.instances[k].at
			c.instances[k] = instance{state: ChildState{ID: c.ID, Name: c.instances[k].state.Name, Namespace: at.Namespace, State: Absent}, at: at}
		}
	}
}
