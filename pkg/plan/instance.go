package plan

import (
	"context"
	"fmt"
	"strconv"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/bindings"
	"github.com/ambit-dev/ambit/pkg/plan/problems"
	"github.com/ambit-dev/ambit/pkg/plan/readiness"
	"github.com/ambit-dev/ambit/pkg/plan/ssadiff"
)

// listElements makes the instances of a child, one for each element.
func (p *planner) listElements(ctx context.Context, c *child) bool {
	if c.ForEach == nil {
		c.one[0] = instance{state: ChildState{ID: c.ID}}
		c.instances, c.listed = c.one[:], true
		return true
	}
	what := p.part + "." + c.ID + ".forEach.in"
	value, f := bindings.Evaluate(&p.scope, what, c.ForEach.In, func() (any, error) { return c.ForEach.In.Eval(ctx, p.scope.Vars) })
	if f != nil {
		return c.markBlocked(f.Problem())
	}
	elements, ok := value.([]any)
	if !ok {
		return c.markBlocked(p.scope.Fail(what, fmt.Errorf("the value is %s, not a list", ssadiff.DescribeValue(value))).Problem())
	}
	if len(elements) > MaxElements {
		return c.markBlocked(limitProblem(fmt.Sprintf("%s: child %q has %d elements", p.program.Place(what), c.ID, len(elements)), MaxElements))
	}
	c.listed = true
	c.state.State = Ready
	c.instances = make([]instance, len(elements))
	for i, element := range elements {
		c.instances[i] = instance{state: ChildState{ID: c.ID}, element: element, number: i}
	}
	return true
}

// bindLive lets expressions see the live objects of a child.
func (p *planner) bindLive(c *child) {
	if c.ForEach == nil {
		if live := c.instances[0].live; live != nil {
			p.scope.Vars[c.ID] = c.See(live.Object)
		}
		return
	}
	list := make([]any, 0, len(c.instances))
	for i := range c.instances {
		if live := c.instances[i].live; live != nil {
			list = append(list, c.See(live.Object))
		}
	}
	p.scope.Vars[c.ID] = list
}

// evaluateReadiness says of each object whether it is ready, and holds back those that have
// to wait for another.
func (p *planner) evaluateReadiness(ctx context.Context, c *child) {
	for _, x := range c.ReadyWhen {
		p.resolveRead(ctx, x)
	}
	all := p.scope.Vars[c.ID]
	for i := range c.instances {
		if it := &c.instances[i]; it.stage == existing {
			it.stage = evaluating
			p.scope.BindElement(c.Child, it.element)
			if it.live != nil {
				p.scope.Vars[c.ID] = c.See(it.live.Object)
			}
			p.evaluateInstance(ctx, c, it)
			it.stage = decided
		}
	}
	p.scope.UnbindElement(c.Child)
	p.scope.Vars[c.ID] = all
	if c.Update == v1alpha1.UpdateOneByOne {
		c.holdBack()
	}
}

// evaluateInstance evaluates readyWhen, or else what the object's status says. What readyWhen reads
// of other children has to be known first, as far as that does not depend on this one.
func (p *planner) evaluateInstance(ctx context.Context, c *child, it *instance) {
	for i, x := range c.ReadyWhen {
		part := "readyWhen[" + strconv.Itoa(i) + "]"
		what := p.part + "." + c.ID + "." + part
		ready, f := bindings.Evaluate(&p.scope, what, x, func() (bool, error) { return x.EvalBool(ctx, p.scope.Vars) })
		switch {
		case f != nil && !f.IsMissing:
			it.markBlocked(f.Problem())
			return
		case f != nil:
			it.markProgressing("waiting for "+c.objectName(it)+" to become ready: "+f.Text, f.Text)
			return
		case !ready:
			it.markProgressing("waiting for "+c.objectName(it)+" to become ready", part+" is false: "+problems.OneLine(x.Source()))
			return
		}
	}
	if readsStatus(c.Child) && it.live != nil && !p.ensures {
		switch state := readiness.Evaluate(it.live); {
		case state.HasFailed:
			it.markFailed(c.objectName(it)+" failed: "+state.Detail, state.Detail)
			return
		case !state.IsReady:
			it.markProgressing("waiting for "+c.objectName(it)+" to become ready", state.Detail)
			return
		}
	}
	it.state.State = Ready
}

// resolveRead resolves the other children that an expression reads or asks for.
func (p *planner) resolveRead(ctx context.Context, x bindings.Expression) {
	for _, id := range x.FreeVariables() {
		if other := p.findChild(id); other != nil {
			p.resolveChild(ctx, other)
		}
	}
	for _, id := range x.AskedReady() {
		if other := p.findChild(id); other != nil && other.stage != evaluating {
			p.resolveChild(ctx, other)
			p.isReady(ctx, other)
		}
	}
}
