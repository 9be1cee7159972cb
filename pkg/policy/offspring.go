package policy

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// offspring finds children that are owners of this policy: each of their objects would have
// children again, without an end. Where the selector shows that they are, and nothing else
// can hold them back, it is a mistake; where it does not show that they are not, the child is
// marked, for package plan to limit the generations.
func (c *compiler) offspring() {
	owner := c.program.Owner
	for i, child := range c.program.Children {
		if child.GVK.GroupKind() != owner.GVK.GroupKind() || child.Existing == v1alpha1.ExistingMerge || owner.Selector == nil {
			continue
		}
		f := c.field("children."+child.ID, "children", i)
		metadata := lookup(f.node, "template", "metadata")
		if metadata == nil || c.isOutOfScope(lookup(metadata, "namespace")) {
			continue
		}
		matches, certain := c.selects(owner.Selector, lookup(metadata, "labels"))
		child.MayOwn = matches
		name := lookup(metadata, "name") // one that is literal ends the chain at itself
		always := child.When == nil && child.ForEach == nil && name != nil && strings.Contains(name.Value, "${")
		if matches && certain && always && owner.Filter == nil {
			c.at(f.node, "child %q is of the kind of its owner, and the owner's selector selects it: it would have a child again, without an end; "+
				"give spec.owner.selector a label that the child does not have", child.ID)
		}
	}
}

// isOutOfScope says whether a namespace of a template, which may be nil, is certainly not
// in the scope of the policy.
func (c *compiler) isOutOfScope(n *yaml.Node) bool {
	if n == nil || strings.Contains(n.Value, "${") {
		return false
	}
	listed := len(c.program.Namespaces) > 0 && c.program.NamespaceSelector == nil
	return slices.Contains(c.program.Exclude, n.Value) || listed && !slices.Contains(c.program.Namespaces, n.Value)
}

// selects says whether a selector may select an object with the labels of a template, and
// whether it certainly does.
func (c *compiler) selects(selector labels.Selector, template *yaml.Node) (may, certain bool) {
	requirements, selectable := selector.Requirements()
	if !selectable {
		return false, true
	}
	known, all := c.labelsOf(template)
	certain = true
	for _, r := range requirements {
		value, isKnown := known[r.Key()]
		switch {
		case isKnown && value == nil, !isKnown && !all: // computed
			certain = false
		case isKnown && !r.Matches(labels.Set{r.Key(): *value}), !isKnown && !r.Matches(labels.Set{}):
			return false, true
		}
	}
	return true, certain
}

// labelsOf returns the labels of a template's objects, nil for a value that is computed or
// Ambit's own choice, and whether these are all.
func (c *compiler) labelsOf(template *yaml.Node) (known map[string]*string, all bool) {
	managedBy := v1alpha1.ManagedBy
	known = map[string]*string{v1alpha1.LabelManagedBy: &managedBy, v1alpha1.LabelPolicy: &c.program.Name, v1alpha1.LabelOwnerUID: nil}
	if template == nil || isNull(template) {
		return known, true
	}
	if template.Kind != yaml.MappingNode {
		return known, false
	}
	pairs(template, func(key, value *yaml.Node) {
		switch {
		case strings.Contains(value.Value, "${"):
			known[key.Value] = nil
		case isTextNode(value):
			known[key.Value] = &value.Value
		}
	})
	return known, true
}
