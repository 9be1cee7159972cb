package policy

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

func (c *compiler) children() {
	for i, spec := range c.policy.Spec.Children {
		what := "children." + spec.ID
		f := c.field(what, "children", i)
		c.place(what, f.node)
		vars := c.names.template(spec.ID)
		if spec.ForEach != nil && identifier.MatchString(spec.ForEach.As) {
			vars = append(vars, spec.ForEach.As) // refused, but its uses are no further mistakes
		}
		template := f.below(what+".template", "template")
		out := &Child{
			ID:       spec.ID,
			GVK:      c.gvk(template.node, fmt.Sprintf("spec.children[%d].template", i), true),
			When:     c.expr(f.below(what+".when", "when"), vars, wantBool),
			Template: c.template(template, vars),
		}
		c.checkTemplate(template.node, fmt.Sprintf("spec.children[%d].template", i))
		for k := range spec.ReadyWhen {
			ready := f.below(fmt.Sprintf("%s.readyWhen[%d]", what, k), "readyWhen", k)
			out.ReadyWhen = append(out.ReadyWhen, c.expr(ready, c.names.all(), wantBool))
		}
		c.program.Children = append(c.program.Children, out)
	}
}

// notOurs are fields of metadata that a template must not set: the API server
// does, or Ambit.
var notOurs = strings.Fields(`generateName uid resourceVersion generation creationTimestamp deletionTimestamp
	deletionGracePeriodSeconds selfLink managedFields ownerReferences`)

// ourLabels are set by Ambit on every child.
var ourLabels = []string{v1alpha1.LabelManagedBy, v1alpha1.LabelPolicy, v1alpha1.LabelOwnerUID}

func (c *compiler) checkTemplate(n *yaml.Node, what string) {
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	if lookup(n, "status") != nil {
		c.at(keyNode(n, "status"), "%s.status cannot be set: the status of a child is written by who serves its kind", what)
	}
	metadata := lookup(n, "metadata")
	if metadata == nil {
		c.at(n, "%s.metadata.name is required", what)
		return
	}
	if metadata.Kind != yaml.MappingNode {
		c.at(metadata, "%s.metadata must be a mapping, is %s", what, describe(metadata))
		return
	}
	c.checkTemplateMetadata(metadata, what+".metadata")
}

func (c *compiler) checkTemplateMetadata(n *yaml.Node, what string) {
	switch name := lookup(n, "name"); {
	case name == nil:
		c.at(n, "%s.name is required", what)
	case name.Kind != yaml.ScalarNode || name.Tag != "!!str" || name.Value == "":
		c.at(name, "%s.name must be a string, is %s%s", what, describe(name), quoteHint(name))
	}
	pairs(n, func(key, _ *yaml.Node) {
		if slices.Contains(notOurs, key.Value) {
			c.at(key, "%s.%s cannot be set in a template", what, key.Value)
		}
	})
	if set := lookup(n, "labels"); set != nil && set.Kind == yaml.MappingNode {
		pairs(set, func(key, _ *yaml.Node) {
			if slices.Contains(ourLabels, key.Value) {
				c.at(key, "label %s is set by Ambit itself", key.Value)
			}
		})
	}
}
