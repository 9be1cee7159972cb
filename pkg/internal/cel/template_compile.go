package cel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ambit-dev/ambit/pkg/internal/fields"
)

// templateCompiler compiles one template.
type templateCompiler struct {
	env      *Env
	template *Template
	asked    map[string]bool
	issues   []TemplateIssue
	// path leads to the part that is being compiled. There is one, which grows and
	// shrinks: a copy at each level would cost the square of the depth.
	path []any
	// paths collects what the part sets, with Any in place of list positions.
	paths *fields.Builder
}

// compileNode compiles the part of the tree at c.path, and notes the fields that it sets.
func (c *templateCompiler) compileNode(tree any) node {
	switch v := tree.(type) {
	case map[string]any:
		return c.compileMap(v)
	case []any:
		return c.compileList(v)
	case string:
		c.paths.AddWhole()
		return c.compileString(v)
	}
	c.paths.AddWhole()
	return constantNode{value: tree, holdsNull: tree == nil}
}

// compileBelow compiles a part of the part at c.path, which an element leads to.
func (c *templateCompiler) compileBelow(element any, tree any) node {
	name, ok := element.(string)
	if !ok {
		name = fields.Any
	}
	above := c.paths
	c.path, c.paths = append(c.path, element), above.CollectBelow(name)
	n := c.compileNode(tree)
	c.path, c.paths = c.path[:len(c.path)-1], above
	return n
}

// addIssue notes a mistake in the part at c.path, or in what the elements lead to from there.
func (c *templateCompiler) addIssue(issue TemplateIssue, below ...any) {
	issue.Path = slices.Concat(c.path, below)
	c.issues = append(c.issues, issue)
}

func (c *templateCompiler) compileMap(m map[string]any) node {
	if len(m) == 0 {
		c.paths.AddWhole()
		return constantNode{value: map[string]any{}}
	}
	result := mapNode{keys: sortedKeys(m), nodes: make([]node, 0, len(m))}
	fixed := true
	for _, key := range result.keys {
		if strings.Contains(key, "${") {
			c.addIssue(TemplateIssue{Message: fmt.Sprintf("key %q: keys are literal, ${...} is for values", key)}, key)
			continue
		}
		n := c.compileBelow(key, m[key])
		result.nodes = append(result.nodes, n)
		fixed = fixed && isConstant(n)
	}
	if fixed && len(result.nodes) == len(result.keys) {
		return result.foldConstants()
	}
	return result
}

func (c *templateCompiler) compileList(l []any) node {
	if len(l) == 0 {
		c.paths.AddWhole()
		return constantNode{value: []any{}}
	}
	result := make(listNode, len(l))
	fixed := true
	for i, element := range l {
		result[i] = c.compileBelow(i, element)
		fixed = fixed && isConstant(result[i])
	}
	if fixed {
		return result.foldConstants()
	}
	return result
}

func isConstant(n node) bool {
	_, ok := n.(constantNode)
	return ok
}

// foldConstants is the node of a map whose nodes are all constant.
func (n mapNode) foldConstants() constantNode {
	m, holdsNull := make(map[string]any, len(n.keys)), false
	for i, key := range n.keys {
		below := n.nodes[i].(constantNode)
		m[key], holdsNull = below.value, holdsNull || below.holdsNull
	}
	return constantNode{value: m, holdsNull: holdsNull}
}

// foldConstants is the node of a list whose nodes are all constant.
func (n listNode) foldConstants() constantNode {
	l, holdsNull := make([]any, len(n)), false
	for i, element := range n {
		below := element.(constantNode)
		l[i], holdsNull = below.value, holdsNull || below.holdsNull
	}
	return constantNode{value: l, holdsNull: holdsNull}
}

// compileString compiles the text of one string.
func (c *templateCompiler) compileString(s string) node {
	pieces, issue := splitTemplate(s)
	if issue != nil {
		c.addIssue(*issue)
		return constantNode{value: s}
	}
	var parts textNode
	for _, p := range pieces {
		if !p.expression {
			parts = append(parts, textPart{literal: p.text})
			continue
		}
		expr, issues := c.env.CompileExpr(p.text)
		for _, issue := range issues {
			c.addIssue(TemplateIssue{Offset: p.offset + issue.Offset, Message: issue.Message})
		}
		if expr == nil {
			continue
		}
		for _, name := range expr.AskedReady() {
			c.asked[name] = true
		}
		c.template.asksTime = c.template.asksTime || expr.AsksTime()
		for name, set := range expr.FieldsRead() {
			c.template.reads[name] = c.template.reads[name].Union(set)
		}
		parts = append(parts, textPart{expr: expr})
	}
	return simplestNode(parts)
}

func simplestNode(parts textNode) node {
	switch {
	case len(parts) == 0:
		return constantNode{value: ""}
	case len(parts) > 1:
		return parts
	case parts[0].expr != nil:
		return expressionNode{parts[0].expr}
	}
	return constantNode{value: parts[0].literal}
}
