package policy

import (
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
)

func (c *compiler) owner() {
	f := c.field("owner", "owner")
	if f.node != nil {
		c.place(f.what, f.node)
	}
	out := &c.program.Owner
	out.GVK = c.gvk(f.node, "spec.owner", false)
	selector := c.selector(f.below("owner.selector", "selector"), nil)
	out.Filter = c.exprOf(f.below("owner.filter", "filter"), []string{"object"}, wantBool, "owner")
	pushed := pushDown(out.Filter, out.GVK)
	terms := labels.NewSelector().Add(selector.literals()...).Add(pushed.labels...)
	out.LabelSelector, out.FieldSelector = terms.String(), pushed.fields
}

func (c *compiler) variables() {
	for i, v := range c.policy.Spec.Variables {
		what := "variables." + v.Name
		before := append([]string{"owner", "policy"}, c.variablesBefore(i)...)
		x := c.expr(c.field(what, "variables", i, "expression"), before, wantAny)
		c.program.Variables = append(c.program.Variables, Variable{Name: v.Name, Expr: x})
	}
}

// variablesBefore returns the legal names among those of the first variables.
func (c *compiler) variablesBefore(i int) []string {
	var out []string
	for _, v := range c.policy.Spec.Variables[:i] {
		if nameProblem(v.Name) == "" {
			out = append(out, v.Name)
		}
	}
	return out
}

func (c *compiler) watches() {
	for i, w := range c.policy.Spec.Watches {
		what := "watches." + w.ID
		f := c.field(what, "watches", i)
		c.place(what, f.node)
		out := &Watch{ID: w.ID, GVK: c.gvk(f.node, fmt.Sprintf("spec.watches[%d]", i), false)}
		out.Selector = c.selector(f.below(what+".selector", "selector"), c.names.selecting())
		out.Filter = c.exprOf(f.below(what+".filter", "filter"), []string{"object", "owner"}, wantBool, w.ID)
		pushed := pushDown(out.Filter, out.GVK)
		out.Selector = out.Selector.with(pushed.labels)
		out.FieldSelector = pushed.fields
		c.program.Watches = append(c.program.Watches, out)
	}
}
