package cel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ambit-dev/ambit/pkg/internal/fields"
)

// compiler compiles one template.
type compiler struct {
	env      *Env
	template *Template
	asked    map[string]bool
	issues   []TemplateIssue
}

// compile compiles the part of the tree at path. The fields it sets are noted
// with Any in place of list positions.
func (c *compiler) compile(tree any, path []any) node {
	switch v := tree.(type) {
	case map[string]any:
		return c.compileMap(v, path)
	case []any:
		return c.compileList(v, path)
	case string:
		c.sets(path)
		return c.compileString(v, path)
	}
	c.sets(path)
	return constant{tree}
}

func (c *compiler) sets(path []any) {
	names := make([]string, len(path))
	for i, element := range path {
		name, ok := element.(string)
		if !ok {
			name = fields.Any
		}
		names[i] = name
	}
	c.template.paths.Add(names...)
}

func (c *compiler) compileMap(m map[string]any, path []any) node {
	if len(m) == 0 {
		c.sets(path)
		return constant{map[string]any{}}
	}
	result := mapping{keys: sortedKeys(m), nodes: make([]node, 0, len(m))}
	fixed := true
	for _, key := range result.keys {
		below := append(slices.Clip(path), key)
		if strings.Contains(key, "${") {
			c.issues = append(c.issues, TemplateIssue{Path: below, Message: fmt.Sprintf("key %q: keys are literal, ${...} is for values", key)})
			continue
		}
		n := c.compile(m[key], below)
		result.nodes = append(result.nodes, n)
		fixed = fixed && isConstant(n)
	}
	if fixed && len(result.nodes) == len(result.keys) {
		return constant{result.values()}
	}
	return result
}

func (c *compiler) compileList(l []any, path []any) node {
	if len(l) == 0 {
		c.sets(path)
		return constant{[]any{}}
	}
	result := make(sequence, len(l))
	fixed := true
	for i, element := range l {
		result[i] = c.compile(element, append(slices.Clip(path), i))
		fixed = fixed && isConstant(result[i])
	}
	if fixed {
		return constant{result.values()}
	}
	return result
}

func isConstant(n node) bool {
	_, ok := n.(constant)
	return ok
}

func (n mapping) values() map[string]any {
	m := make(map[string]any, len(n.keys))
	for i, key := range n.keys {
		m[key] = n.nodes[i].(constant).value
	}
	return m
}

func (n sequence) values() []any {
	l := make([]any, len(n))
	for i, element := range n {
		l[i] = element.(constant).value
	}
	return l
}

// compileString compiles the text of one string.
func (c *compiler) compileString(s string, path []any) node {
	pieces, issue := split(s)
	if issue != nil {
		issue.Path = path
		c.issues = append(c.issues, *issue)
		return constant{s}
	}
	var parts text
	for _, p := range pieces {
		if !p.expression {
			parts = append(parts, part{literal: p.text})
			continue
		}
		expr, issues := c.env.Compile(p.text)
		for _, issue := range issues {
			c.issues = append(c.issues, TemplateIssue{Path: path, Offset: p.offset + issue.Offset, Message: issue.Message})
		}
		if expr == nil {
			continue
		}
		for _, name := range expr.Asked() {
			c.asked[name] = true
		}
		for name, set := range expr.Reads() {
			c.template.reads[name] = c.template.reads[name].Union(set)
		}
		parts = append(parts, part{expr: expr})
	}
	return simplify(parts)
}

func simplify(parts text) node {
	switch {
	case len(parts) == 0:
		return constant{""}
	case len(parts) > 1:
		return parts
	case parts[0].expr != nil:
		return lone{parts[0].expr}
	}
	return constant{parts[0].literal}
}
