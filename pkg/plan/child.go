package plan

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// child is what is known of one child while the plan is made.
type child struct {
	*policy.Child
	state ChildState
	stage stage
	// unwanted: it is certain that the child is not wanted.
	unwanted bool
	// desired is nil until it could be rendered, live is the observed object of that
	// name if it is ours.
	desired, live *unstructured.Unstructured
	// action is what the child itself needs; nil for nothing.
	action *Action
	// problem is what blocks the child; nil unless it is Blocked.
	problem *Problem
	// progress says what is waited for, for conditions; empty if nothing.
	progress string
}

// stage is how far a child is decided.
type stage int

const (
	undecided stage = iota
	deciding
	existing // exists as desired; whether it is ready is not known yet
	judging
	decided
)

// decideChildren decides each child, after those it depends on.
func (p *planner) decideChildren(ctx context.Context) {
	p.children = make([]child, len(p.program.Children))
	for i, c := range p.program.Children {
		p.children[i] = child{Child: c, state: ChildState{ID: c.ID}}
		p.scope.vars[c.ID] = map[string]any{}
	}
	for i := range p.children {
		p.decide(ctx, &p.children[i])
	}
	for i := range p.children {
		p.isReady(ctx, &p.children[i])
	}
	for i := range p.children {
		if a := p.children[i].action; a != nil {
			p.actions = append(p.actions, *a)
		}
	}
}

func (p *planner) child(id string) *child {
	i := slices.IndexFunc(p.children, func(c child) bool { return c.ID == id })
	if i < 0 {
		return nil
	}
	return &p.children[i]
}

// decide takes a child as far as can be said without its readiness. It does
// nothing if that was done.
func (p *planner) decide(ctx context.Context, c *child) {
	if c.stage != undecided {
		return
	}
	c.stage = deciding
	if next := p.decideWanted(ctx, c) && p.render(ctx, c) && p.match(c) && p.compare(c); next {
		c.stage = existing
		return
	}
	c.stage = decided
}

// decideWanted says whether to go on to render the child.
func (p *planner) decideWanted(ctx context.Context, c *child) bool {
	for i, w := range p.program.Watches {
		if p.watchProblems[i] != nil && slices.Contains(c.Watches, w.ID) {
			return c.block(p.watchProblems[i])
		}
	}
	if !p.dependenciesReady(ctx, c) {
		return false
	}
	if c.When == nil {
		return true
	}
	wanted, f := evaluate(&p.scope, "children."+c.ID+".when", c.When, func() (bool, error) { return c.When.EvalBool(ctx, p.scope.vars) })
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
	var waits *child
	for _, id := range c.Children {
		dependency := p.child(id)
		p.decide(ctx, dependency)
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

// root follows who waits for whom to the child that does not wait.
func (p *planner) root(c *child) *child {
	for range p.children {
		i := slices.IndexFunc(c.Children, func(id string) bool { d := p.child(id); return d.state.State != Ready })
		if c.state.State != Waiting || i < 0 {
			return c
		}
		c = p.child(c.Children[i])
	}
	return c
}

// isReady says whether the child exists as desired and is ready, and notes it.
func (p *planner) isReady(ctx context.Context, c *child) bool {
	if c.stage == existing {
		c.stage = judging
		p.judge(ctx, c)
		c.stage = decided
	}
	return c.state.State == Ready
}

// judge evaluates readyWhen. What it reads of other children has to be known
// first, as far as that does not depend on this one.
func (p *planner) judge(ctx context.Context, c *child) {
	for i, x := range c.ReadyWhen {
		p.decideRead(ctx, x)
		part := "readyWhen[" + strconv.Itoa(i) + "]"
		what := "children." + c.ID + "." + part
		ready, f := evaluate(&p.scope, what, x, func() (bool, error) { return x.EvalBool(ctx, p.scope.vars) })
		switch {
		case f != nil && !f.missing:
			c.block(f.problem())
			return
		case f != nil:
			c.advance("waiting for "+c.name()+" to become ready: "+f.text, f.text)
			return
		case !ready:
			c.advance("waiting for "+c.name()+" to become ready", part+" is false: "+oneLine(x.Source()))
			return
		}
	}
	c.state.State = Ready
}

func (p *planner) decideRead(ctx context.Context, x expression) {
	for _, id := range x.Vars() {
		if other := p.child(id); other != nil {
			p.decide(ctx, other)
		}
	}
}

// block notes that something has to change first. It returns false.
func (c *child) block(problem *Problem) bool {
	c.problem, c.action, c.progress, c.stage = problem, nil, "", decided
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
	if root.state.Message != "" {
		c.state.Message += ": " + root.state.Message
	}
}

// advance notes that the child is on its way: progress in short and stable words
// for conditions, detail for whoever looks at the child.
func (c *child) advance(progress, detail string) {
	c.progress = progress
	c.state.State, c.state.Reason, c.state.Message = NotReady, v1alpha1.ReasonProgressing, detail
}

// name is as in `Deployment "web"`.
func (c *child) name() string { return fmt.Sprintf("%s %q", c.GVK.Kind, c.state.Name) }
