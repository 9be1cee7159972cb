package policy

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// compileSelector compiles a label selector. s is what its values may refer to; nil: they
// are literal.
func (c *expressionCompiler) compileSelector(f field, s *scope) Selector {
	if f.node == nil {
		return Selector{}
	}
	c.notePlace(f.what, f.node)
	var out Selector
	if n := syntax.LookupNode(f.node, "matchLabels"); n != nil && n.Kind == yaml.MappingNode {
		syntax.EachPair(n, func(key, value *yaml.Node) {
			out.terms = append(out.terms, c.compileTerm(key, selection.Equals, []field{{value, f.what}}, s)...)
		})
	}
	if n := syntax.LookupNode(f.node, "matchExpressions"); n != nil && n.Kind == yaml.SequenceNode {
		for _, e := range n.Content {
			out.terms = append(out.terms, c.compileMatchExpression(field{e, f.what}, s)...)
		}
	}
	return out.sortedTerms()
}

// compileMatchExpression compiles one of matchExpressions; nothing if its parts are not there.
func (c *expressionCompiler) compileMatchExpression(f field, s *scope) []term {
	key, name := f.below("", "key"), f.below("", "operator")
	if !key.isText() || !name.isText() {
		return nil
	}
	operators := map[string]selection.Operator{
		"In": selection.In, "NotIn": selection.NotIn, "Exists": selection.Exists, "DoesNotExist": selection.DoesNotExist,
	}
	op, ok := operators[name.node.Value]
	if !ok {
		return nil
	}
	var values []field
	if list := f.below("", "values").node; list != nil && list.Kind == yaml.SequenceNode {
		for _, v := range list.Content {
			values = append(values, field{v, f.what})
		}
	}
	needs := op == selection.In || op == selection.NotIn
	switch {
	case needs && len(values) == 0:
		c.At(f.node, "operator %s needs values", name.node.Value)
		return nil
	case !needs && len(values) > 0:
		c.At(values[0].node, "operator %s takes no values", name.node.Value)
		return nil
	}
	return c.compileTerm(key.node, op, values, s)
}

// compileTerm compiles one requirement; nothing if it is not right.
func (c *expressionCompiler) compileTerm(key *yaml.Node, op selection.Operator, values []field, s *scope) []term {
	before := c.Count()
	for _, problem := range validation.IsQualifiedName(key.Value) {
		c.At(key, "%q is not the key of a label: %s", syntax.ShortenText(key.Value), withoutRegex(problem))
	}
	out := term{key: key.Value, operator: op}
	var literal []string
	for _, v := range values {
		t := c.compileLabelValue(v, s)
		if t != nil && strings.Contains(v.node.Value, "${") {
			out.specific = true
		}
		literal = append(literal, v.node.Value)
		out.values = append(out.values, t)
	}
	if c.Count() > before {
		return nil
	}
	if !out.specific {
		r, err := labels.NewRequirement(out.key, op, literal)
		if err != nil {
			c.At(key, "%v", err)
			return nil
		}
		out.literal = *r
	}
	return []term{out}
}

// compileLabelValue compiles one value of a selector; nil if it is not right.
func (c *expressionCompiler) compileLabelValue(f field, s *scope) *cel.Template {
	n := f.node
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
		return nil // said by DecodePolicy
	}
	if i := strings.Index(n.Value, "${"); i >= 0 && s == nil {
		c.In(n, i, "%s is literal%s", f.what, insteadOf(f.what))
		return nil
	}
	if !strings.Contains(n.Value, "${") || strings.Contains(n.Value, "$${") {
		for _, problem := range validation.IsValidLabelValue(n.Value) {
			c.At(n, "%q is not the value of a label: %s", syntax.ShortenText(n.Value), withoutRegex(problem))
		}
	}
	if s == nil {
		return nil
	}
	return c.compileTemplate(f, *s)
}

// insteadOf says what to do where a selector of that name cannot have expressions.
func insteadOf(what string) string {
	if what == "owner.selector" {
		return ": use the filter"
	}
	return ": it must be known before there is an owner"
}

// literalRequirements returns the terms that depend on nothing.
func (s Selector) literalRequirements() []labels.Requirement {
	var out []labels.Requirement
	for _, t := range s.terms {
		if !t.specific {
			out = append(out, t.literal)
		}
	}
	return out
}

// withRequirements returns s and more terms.
func (s Selector) withRequirements(more []labels.Requirement) Selector {
	terms := slices.Clone(s.terms)
	for _, r := range more {
		terms = append(terms, term{key: r.Key(), operator: r.Operator(), literal: r})
	}
	return Selector{terms: terms}.sortedTerms()
}

func (s Selector) sortedTerms() Selector {
	slices.SortStableFunc(s.terms, func(a, b term) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.operator, b.operator))
	})
	return s
}
