package policy

import (
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

func (c *policyCompiler) compileOwner() {
	f := c.specField("owner", "owner")
	if f.node != nil {
		c.notePlace(f.what, f.node)
	}
	out := &c.program.Owner
	out.GVK = readKind(c.Diagnostics, f.node, "spec.owner", false)
	selector := c.compileSelector(f.below("owner.selector", "selector"), nil)
	out.Filter = c.compileExpr(f.below("owner.filter", "filter"), scope{vars: []string{"object"}, object: "owner"}, wantBool)
	pushed := pushDown(out.Filter, out.GVK)
	out.Selector = labels.NewSelector().Add(selector.literalRequirements()...).Add(pushed.labels...)
	out.LabelSelector, out.FieldSelector = out.Selector.String(), pushed.fields
	out.SkipStatus = isBuiltIn(out.GVK.Group) && c.specField("", "status").node == nil && len(c.policy.Spec.Conditions) == 0
}

// widenOwnerSelection takes back what the API server would select of owners, where those that it
// no longer selects have to be seen as well.
func (c *policyCompiler) widenOwnerSelection() {
	if c.program.NeedsFinalizer() {
		c.program.Owner.LabelSelector, c.program.Owner.FieldSelector = "", ""
	}
}

// compileProtect compiles what holds back the deletion of owners.
func (c *policyCompiler) compileProtect() {
	if c.policy.Spec.Protect == nil {
		return
	}
	f := c.specField("protect", "protect")
	c.notePlace(f.what, f.node)
	c.program.Protect = &Protect{
		While:   c.compileExpr(f.below("protect.while", "while"), c.scopeOfAll(), wantBool),
		Message: c.compileExpr(f.below("protect.message", "message"), c.scopeOfAll(), wantString),
	}
}

// checkOffspring finds children that are owners of this policy: each of their objects would have
// children again, without an end. Where the selector shows that they are, and nothing else
// can hold them back, it is a mistake; where it does not show that they are not, the child is
// marked, for package plan to limit the generations.
func (c *policyCompiler) checkOffspring() {
	owner := c.program.Owner
	for i, child := range c.program.Children {
		if child.GVK.GroupKind() != owner.GVK.GroupKind() || child.Existing == v1alpha1.ExistingMerge || owner.Selector == nil {
			continue
		}
		f := c.specField("children."+child.ID, "children", i)
		metadata := syntax.LookupNode(f.node, "template", "metadata")
		if metadata == nil || c.program.isOutOfScope(syntax.LookupNode(metadata, "namespace")) {
			continue
		}
		matches, certain := c.program.selectsLabels(owner.Selector, syntax.LookupNode(metadata, "labels"))
		child.MayOwn = matches
		name := syntax.LookupNode(metadata, "name") // one that is literal ends the chain at itself
		always := child.When == nil && child.ForEach == nil && name != nil && strings.Contains(name.Value, "${")
		if matches && certain && always && owner.Filter == nil {
			c.At(f.node, "child %q is of the kind of its owner, and the owner's selector selects it: it would have a child again, without an end; "+
				"give spec.owner.selector a label that the child does not have", child.ID)
		}
	}
}

// isOutOfScope says whether a namespace of a template, which may be nil, is certainly not
// in the scope of the policy.
func (p *Program) isOutOfScope(n *yaml.Node) bool {
	return n != nil && !strings.Contains(n.Value, "${") && !p.MayHaveNamespace(n.Value)
}

// selectsLabels says whether a selector may select an object with the labels of a template, and
// whether it certainly does.
func (p *Program) selectsLabels(selector labels.Selector, template *yaml.Node) (may, certain bool) {
	requirements, selectable := selector.Requirements()
	if !selectable {
		return false, true
	}
	known, all := p.labelsOfTemplate(template)
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

// labelsOfTemplate returns the labels of a template's objects, nil for a value that is computed or
// Ambit's own choice, and whether these are all.
func (p *Program) labelsOfTemplate(template *yaml.Node) (known map[string]*string, all bool) {
	managedBy := v1alpha1.ManagedBy
	known = map[string]*string{v1alpha1.LabelManagedBy: &managedBy, v1alpha1.LabelPolicy: &p.Label, v1alpha1.LabelOwnerUID: nil}
	if template == nil || syntax.IsNull(template) {
		return known, true
	}
	if template.Kind != yaml.MappingNode {
		return known, false
	}
	syntax.EachPair(template, func(key, value *yaml.Node) {
		switch {
		case strings.Contains(value.Value, "${"):
			known[key.Value] = nil
		case syntax.IsText(value):
			known[key.Value] = &value.Value
		}
	})
	return known, true
}
