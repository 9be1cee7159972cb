package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// child is what is known of one child while the plan is made.
type child struct {
	*policy.Child
	stage stage
	// state and problem are those of the child as a whole, where it has no items.
	state   ChildState
	problem *Problem
	// unwanted: it is certain that the child is not wanted.
	unwanted bool
	// listed: all its items are there, so that it is known how many there are.
	listed bool
	// instances are the objects of the child; one is the room for a single one.
	instances []instance
	one       [1]instance
}

// stage is how far a child or an instance is decided.
type stage int

const (
	undecided stage = iota
	deciding
	existing // exists as desired; whether it is ready is not known yet
	judging
	decided
)

// resolveChildren resolves each child, after those it depends on.
func (p *planner) resolveChildren(ctx context.Context) {
	p.children = make([]child, len(p.specs))
	p.ready = make(map[string]bool, len(p.specs))
	p.scope.vars[cel.ReadyVar] = p.ready
	for i, c := range p.specs {
		p.children[i] = child{Child: c, state: ChildState{ID: c.ID}}
		p.ready[c.ID] = false
		p.scope.vars[c.ID] = nothingOf(c)
	}
	for i := range p.children {
		p.resolveChild(ctx, &p.children[i])
	}
	for i := range p.children {
		p.isReady(ctx, &p.children[i])
	}
}

// nothingOf is what expressions see of a child without an object.
func nothingOf(c *policy.Child) any {
	if c.ForEach != nil {
		return []any{}
	}
	return map[string]any{}
}

func (p *planner) child(id string) *child {
	for i := range p.children {
		if p.children[i].ID == id {
			return &p.children[i]
		}
	}
	return nil
}

// resolveChild takes a child as far as can be said without its readiness. It does
// nothing if that was done.
func (p *planner) resolveChild(ctx context.Context, c *child) {
	if c.stage != undecided {
		return
	}
	c.stage = deciding
	if !p.resolveWanted(ctx, c) || !p.listElements(ctx, c) {
		c.stage = decided
		return
	}
	for i := range c.instances {
		p.resolveInstance(ctx, c, &c.instances[i])
	}
	p.bindLive(c)
	c.stage = existing
}

// resolveWanted says whether to go on to render the child.
func (p *planner) resolveWanted(ctx context.Context, c *child) bool {
	if problem := p.watchProblem(c.Watches); problem != nil {
		return c.block(problem)
	}
	if !p.dependenciesReady(ctx, c) {
		return false
	}
	if c.When == nil {
		return true
	}
	wanted, f := evaluate(&p.scope, p.part+"."+c.ID+".when", c.When, func() (bool, error) { return c.When.EvalBool(ctx, p.scope.vars) })
	if f != nil {
		return c.block(f.problem())
	}
	if !wanted {
		c.drop("when is false")
	}
	return wanted
}

// dependenciesReady says whether all children that c reads exist and are ready.
// If one is not wanted, c cannot be either: it would wait for ever.
func (p *planner) dependenciesReady(ctx context.Context, c *child) bool {
	for _, id := range c.Asked {
		if asked := p.child(id); asked != nil {
			p.resolveChild(ctx, asked)
			p.isReady(ctx, asked)
			if problem := p.doubtful(asked); problem != nil {
				return c.block(problem)
			}
		}
	}
	var waits *child
	for _, id := range c.Children {
		dependency := p.child(id)
		p.resolveChild(ctx, dependency)
		if dependency.unwanted {
			c.drop(fmt.Sprintf("child %q, which it depends on, is not wanted", id))
			return false
		}
		if !p.isReady(ctx, dependency) && waits == nil {
			waits = dependency
		}
	}
	if waits != nil {
		c.wait(p.root(waits))
		return false
	}
	return true
}

// doubtful says why it is not known whether a child is ready, because it, or what it
// waits for, cannot be seen or decided; nil if it is known. What asks must not take
// that for an answer.
func (p *planner) doubtful(c *child) *Problem {
	root := p.root(c)
	if root.unwanted {
		return nil
	}
	if problem := p.blockedPlace(root); problem != nil {
		return problem
	}
	if it := root.firstNotReady(); it != nil && it.problem != nil && (it.desired == nil || it.problem.isEvaluation()) {
		return it.problem
	}
	return root.problem
}

// isEvaluation says whether the problem is an expression without a result.
func (p Problem) isEvaluation() bool {
	return p.Reason == v1alpha1.ReasonExpressionFailed || p.Reason == v1alpha1.ReasonLimitExceeded
}

// root follows who waits for whom to the child that does not wait.
func (p *planner) root(c *child) *child {
	for range p.children {
		i := slices.IndexFunc(c.Children, func(id string) bool { return !p.child(id).isReady() })
		if c.state.State != Waiting || i < 0 {
			return c
		}
		c = p.child(c.Children[i])
	}
	return c
}

// isReady says whether all objects of the child exist as desired and are ready,
// and notes it.
func (p *planner) isReady(ctx context.Context, c *child) bool {
	if c.stage == existing {
		c.stage = judging
		p.evaluateReadiness(ctx, c)
		c.stage = decided
	}
	ready := c.isReady()
	p.ready[c.ID] = ready
	return ready
}

func (c *child) isReady() bool {
	if len(c.instances) == 0 {
		return c.state.State == Ready
	}
	return c.firstNotReady() == nil
}

func (c *child) firstNotReady() *instance {
	for i := range c.instances {
		if c.instances[i].state.State != Ready {
			return &c.instances[i]
		}
	}
	return nil
}

// overall is the state of the child as a whole: that of the first object that is
// not ready.
func (c *child) overall() ChildState {
	if it := c.firstNotReady(); it != nil {
		return it.state
	}
	if len(c.instances) > 0 {
		return c.instances[0].state
	}
	return c.state
}

// named says whether it is known which objects the child wants.
func (c *child) named() bool {
	if c.unwanted {
		return true
	}
	return c.listed && !slices.ContainsFunc(c.instances, func(it instance) bool { return it.desired == nil })
}

// block notes that something has to change first. It returns false.
func (c *child) block(problem *Problem) bool {
	c.problem = problem
	c.state.State, c.state.Reason, c.state.Message = Blocked, problem.Reason, problem.Message
	return false
}

func (c *child) drop(why string) {
	c.unwanted = true
	c.state.State, c.state.Message = Absent, why
}

func (c *child) wait(root *child) {
	c.state.State, c.state.Reason = Waiting, v1alpha1.ReasonProgressing
	c.state.Message = fmt.Sprintf("waiting for child %q", root.ID)
	if message := root.overall().Message; message != "" {
		c.state.Message += ": " + message
	}
}
