package plan

import (
	"context"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/ssadiff"
)

// instance is what is known of one object of a child while the plan is made.
type instance struct {
	state ChildState
	stage stage
	// element is that of forEach, and number its place in the list.
	element   any
	number    int
	at        Location
	ownership ownership
	// desired is nil until it could be rendered, found is the observed object of that
	// name, and live is that if it is ours, or merged.
	desired, found, live *unstructured.Unstructured
	// action is what the object itself needs; nil for nothing.
	action *Action
	// problem is what blocks the object; nil unless it is Blocked.
	problem *Problem
	// progress says what is waited for, for conditions; empty if nothing.
	progress string
}

// listElements makes the items of a child, one for each element.
func (p *planner) listElements(ctx context.Context, c *child) bool {
	if c.ForEach == nil {
		c.one[0] = instance{state: ChildState{ID: c.ID}}
		c.instances, c.listed = c.one[:], true
		return true
	}
	what := p.part + "." + c.ID + ".forEach.in"
	value, f := evaluate(&p.scope, what, c.ForEach.In, func() (any, error) { return c.ForEach.In.Eval(ctx, p.scope.vars) })
	if f != nil {
		return c.block(f.problem())
	}
	elements, ok := value.([]any)
	if !ok {
		return c.block(p.scope.fail(what, fmt.Errorf("the value is %s, not a list", ssadiff.DescribeValue(value))).problem())
	}
	if len(elements) > MaxElements {
		return c.block(tooMany(fmt.Sprintf("%s: child %q has %d elements", p.program.Place(what), c.ID, len(elements)), MaxElements))
	}
	c.listed = true
	c.state.State = Ready
	c.instances = make([]instance, len(elements))
	for i, element := range elements {
		c.instances[i] = instance{state: ChildState{ID: c.ID}, element: element, number: i}
	}
	return true
}

// resolveInstance takes one object as far as can be said without its readiness.
func (p *planner) resolveInstance(ctx context.Context, c *child, it *instance) {
	it.stage = decided
	if p.renderInstance(ctx, c, it) && p.matchLive(c, it) && p.compareLive(c, it) {
		it.stage = existing
	}
}

// bindLive lets expressions see the live objects of a child.
func (p *planner) bindLive(c *child) {
	if c.ForEach == nil {
		if live := c.instances[0].live; live != nil {
			p.scope.vars[c.ID] = c.See(live.Object)
		}
		return
	}
	list := make([]any, 0, len(c.instances))
	for i := range c.instances {
		if live := c.instances[i].live; live != nil {
			list = append(list, c.See(live.Object))
		}
	}
	p.scope.vars[c.ID] = list
}

// evaluateReadiness says of each object whether it is ready, and holds back those that have
// to wait for another.
func (p *planner) evaluateReadiness(ctx context.Context, c *child) {
	for _, x := range c.ReadyWhen {
		p.resolveRead(ctx, x)
	}
	all := p.scope.vars[c.ID]
	for i := range c.instances {
		if it := &c.instances[i]; it.stage == existing {
			it.stage = judging
			p.scope.bindElement(c, it)
			if it.live != nil {
				p.scope.vars[c.ID] = c.See(it.live.Object)
			}
			p.evaluateInstance(ctx, c, it)
			it.stage = decided
		}
	}
	p.scope.unbindElement(c)
	p.scope.vars[c.ID] = all
	if c.Update == v1alpha1.UpdateOneByOne {
		c.holdBack()
	}
}

// evaluateInstance evaluates readyWhen. What it reads of other children has to be known
// first, as far as that does not depend on this one.
func (p *planner) evaluateInstance(ctx context.Context, c *child, it *instance) {
	for i, x := range c.ReadyWhen {
		part := "readyWhen[" + strconv.Itoa(i) + "]"
		what := p.part + "." + c.ID + "." + part
		ready, f := evaluate(&p.scope, what, x, func() (bool, error) { return x.EvalBool(ctx, p.scope.vars) })
		switch {
		case f != nil && !f.missing:
			it.block(f.problem())
			return
		case f != nil:
			it.advance("waiting for "+c.name(it)+" to become ready: "+f.text, f.text)
			return
		case !ready:
			it.advance("waiting for "+c.name(it)+" to become ready", part+" is false: "+oneLine(x.Source()))
			return
		}
	}
	it.state.State = Ready
}

// resolveRead resolves the other children that an expression reads or asks for.
func (p *planner) resolveRead(ctx context.Context, x expression) {
	for _, id := range x.Vars() {
		if other := p.child(id); other != nil {
			p.resolveChild(ctx, other)
		}
	}
	for _, id := range x.Asked() {
		if other := p.child(id); other != nil && other.stage != judging {
			p.resolveChild(ctx, other)
			p.isReady(ctx, other)
		}
	}
}

// holdBack keeps the action of each object until all before it are ready.
func (c *child) holdBack() {
	var first *instance
	for i := range c.instances {
		it := &c.instances[i]
		if first != nil && it.action != nil {
			it.action, it.progress = nil, ""
			it.state.State, it.state.Message = Waiting, fmt.Sprintf("waiting for %s, which comes before it", c.name(first))
		}
		if first == nil && it.state.State != Ready {
			first = it
		}
	}
}

func (s *scope) bindElement(c *child, it *instance) {
	if c.ForEach != nil {
		s.vars[c.ForEach.As] = it.element
	}
}

func (s *scope) unbindElement(c *child) {
	if c.ForEach != nil {
		delete(s.vars, c.ForEach.As)
	}
}

// block notes that something has to change first. It returns false.
func (it *instance) block(problem *Problem) bool {
	it.problem, it.action, it.progress, it.stage = problem, nil, "", decided
	it.state.State, it.state.Reason, it.state.Message = Blocked, problem.Reason, problem.Message
	return false
}

// advance notes that the object is on its way: progress in short and stable words
// for conditions, detail for whoever looks at the child.
func (it *instance) advance(progress, detail string) {
	it.progress = progress
	it.state.State, it.state.Reason, it.state.Message = NotReady, v1alpha1.ReasonProgressing, detail
}

// name is as in `Deployment "web"`; with the namespace where that need not be the
// owner's.
func (c *child) name(it *instance) string {
	if it.state.Namespace != "" && c.CrossNamespace {
		return fmt.Sprintf("%s %q in namespace %q", c.GVK.Kind, it.state.Name, it.state.Namespace)
	}
	return fmt.Sprintf("%s %q", c.GVK.Kind, it.state.Name)
}
