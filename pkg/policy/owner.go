package policy

import (
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
	out.Filter = c.expr(f.below("owner.filter", "filter"), scope{vars: []string{"object"}, object: "owner"}, wantBool)
	pushed := pushDown(out.Filter, out.GVK)
	out.Selector = labels.NewSelector().Add(selector.literals()...).Add(pushed.labels...)
	out.LabelSelector, out.FieldSelector = out.Selector.String(), pushed.fields
	out.SkipStatus = isBuiltIn(out.GVK.Group) && c.field("", "status").node == nil && len(c.policy.Spec.Conditions) == 0
}

// whole takes back what the API server would select of owners, where those that it
// no longer selects have to be seen as well.
func (c *compiler) whole() {
	if c.program.NeedsFinalizer() {
		c.program.Owner.LabelSelector, c.program.Owner.FieldSelector = "", ""
	}
}
