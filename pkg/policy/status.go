package policy

import (
	"regexp"

	"go.yaml.in/yaml/v3"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

func (c *compiler) status() {
	f := c.field("status", "status")
	if f.node == nil || f.node.Kind != yaml.MappingNode {
		return
	}
	if lookup(f.node, "conditions") != nil {
		c.at(keyNode(f.node, "conditions"), "spec.status.conditions cannot be set in the template: write them under spec.conditions")
	}
	c.program.Status = c.template(f, c.everything())
	c.writtenStatus(f.node)
}

// conditionType is what the API server accepts as the type of a condition.
var conditionType = regexp.MustCompile(`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`)

const mostConditionType = 316

func (c *compiler) conditions() {
	c.writtenConditions()
	seen := map[string]bool{}
	for i, spec := range c.policy.Spec.Conditions {
		what := "conditions." + spec.Type
		f := c.field(what, "conditions", i)
		c.place(what, f.node)
		c.conditionType(f.below("", "type"), seen)
		c.program.Conditions = append(c.program.Conditions, Condition{
			Type:    spec.Type,
			Status:  c.expr(f.below(what+".status", "status"), c.everything(), wantStatus),
			Reason:  c.expr(f.below(what+".reason", "reason"), c.everything(), wantString),
			Message: c.expr(f.below(what+".message", "message"), c.everything(), wantString),
		})
	}
}

func (c *compiler) conditionType(f field, seen map[string]bool) {
	if !f.isText() {
		return
	}
	switch t := f.node.Value; {
	case v1alpha1.IsReservedCondition(t):
		c.at(f.node, "condition %s is set by Ambit itself", t)
	case seen[t]:
		c.at(f.node, "condition %s stands here for the second time", t)
	case len(t) > mostConditionType || !conditionType.MatchString(t):
		c.at(f.node, "%q is not the type of a condition, as in Available or example.com/Available", shorten(t))
	default:
		seen[t] = true
	}
}
