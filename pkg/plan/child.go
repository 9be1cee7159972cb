package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/plan/bindings"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// resolveChildren resolves each child, after those it depends on. What is asked of access, and what watches
// show, is known first; what the policy itself ensures reads neither.
func (p *planner) resolveChildren(ctx context.Context) {
	if !p.ensures {
		p.scope.BindAccess(p.deniedAccesses())
		p.readWatches(ctx)
	}
	p.children = make([]child, len(p.specs))
	p.ready = make(map[string]bool, len(p.specs))
	p.scope.Vars[cel.ReadyVar] = p.ready
	for i, c := range p.specs {
		p.children[i] = child{Child: c, state: ChildState{ID: c.ID}}
		p.ready[c.ID] = false
		p.scope.Vars[c.ID] = nothingOf(c)
	}
	for i := range p.children {
		p.resolveChild(ctx, &p.children[i])
	}
	for i := range p.children {
		p.isReady(ctx, &p.children[i])
	}
	(&waitingViewer{planner: p}).showWaitingChildren(ctx)
}

// nothingOf is what expressions see of a child without an object.
func nothingOf(c *policy.Child) any {
	if c.ForEach != nil {
		return []any{}
	}
	return map[string]any{}
}

// resolveChild takes a child as far as can be said without its readiness. It does
// nothing if that was done.
func (p *planner) resolveChild(ctx context.Context, c *child) {
	if c.stage != undecided {
		return
	}
	c.stage = resolving
	if !p.resolveWanted(ctx, c) || !p.listElements(ctx, c) {
		c.stage = decided
		return
	}
	for i := range c.instances {
		it := &c.instances[i]
		it.stage = decided
		if p.renderInstance(ctx, c, it) && p.isAlone(c, it) && p.matchLive(c, it) && p.compareLive(c, it) && p.checkMade(c, it) {
			it.stage = existing
		}
	}
	p.bindLive(c)
	c.stage = existing
}

// resolveWanted says whether to go on to render the child. What reads no child is asked before any child is
// waited for.
func (p *planner) resolveWanted(ctx context.Context, c *child) bool {
	if problem := p.watchProblem(c.Watches); problem != nil {
		return c.markBlocked(problem)
	}
	isWanted := func() bool {
		wanted, f := bindings.Evaluate(&p.scope, p.part+"."+c.ID+".when", c.When, func() (bool, error) { return c.When.EvalBool(ctx, p.scope.Vars) })
		if f != nil {
			return c.markBlocked(f.Problem())
		}
		if !wanted {
			c.markUnwanted("when is false")
		}
		return wanted
	}
	switch {
	case c.When == nil:
		return p.dependenciesReady(ctx, c)
	case p.readsNoChild(c.When):
		return isWanted() && p.dependenciesReady(ctx, c)
	}
	return p.dependenciesReady(ctx, c) && isWanted()
}

// dependenciesReady says whether all children that c reads exist and are ready.
// If one is not wanted, c cannot be either: it would wait for ever.
func (p *planner) dependenciesReady(ctx context.Context, c *child) bool {
	for _, id := range c.Asked {
		if asked := p.findChild(id); asked != nil {
			p.resolveChild(ctx, asked)
			p.isReady(ctx, asked)
			if problem := p.readinessProblem(asked); problem != nil {
				return c.markBlocked(problem)
			}
		}
	}
	var waits *child
	for _, id := range c.Children {
		dependency := p.findChild(id)
		p.resolveChild(ctx, dependency)
		if dependency.unwanted {
			c.markUnwanted(fmt.Sprintf("child %q, which it depends on, is not wanted", id))
			return false
		}
		if !p.looks && !p.isReady(ctx, dependency) && waits == nil {
			waits = dependency
		}
	}
	if waits != nil {
		c.waitFor(p.waitRoot(waits))
		return false
	}
	return true
}

// readinessProblem says why it is not known whether a child is ready, because it, or what it
// waits for, cannot be seen or decided; nil if it is known. What asks must not take
// that for an answer.
func (p *planner) readinessProblem(c *child) *Problem {
	root := p.waitRoot(c)
	if root.unwanted {
		return nil
	}
	if problem := p.blockedPlace(root); problem != nil {
		return problem
	}
	if it := root.firstNotReady(); it != nil && it.problem != nil && (it.desired == nil || it.problem.IsEvaluation()) {
		return it.problem
	}
	return root.problem
}

// waitRoot follows who waits for whom to the child that does not wait.
func (p *planner) waitRoot(c *child) *child {
	for range p.children {
		i := slices.IndexFunc(c.Children, func(id string) bool { return !p.findChild(id).isReady() })
		if c.state.State != Waiting || i < 0 {
			return c
		}
		c = p.findChild(c.Children[i])
	}
	return c
}

// isReady says whether all objects of the child exist as desired and are ready,
// and notes it.
func (p *planner) isReady(ctx context.Context, c *child) bool {
	if c.stage == existing {
		c.stage = evaluating
		p.evaluateReadiness(ctx, c)
		c.stage = decided
	}
	ready := c.isReady()
	p.ready[c.ID] = ready
	return ready
}
