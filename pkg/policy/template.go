package policy

import (
	"fmt"
	"math"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
)

// template compiles the template at f in its scope; nil if it is not there or not
// right.
func (c *compiler) template(f field, s scope) *cel.Template {
	if f.node == nil {
		return nil
	}
	c.placeAll(f)
	if !c.affords(f.node) {
		return nil
	}
	env, before := c.env(s), len(c.list)
	tree := c.tree(f.node)
	if env == nil {
		return nil
	}
	t, issues := env.CompileTemplate(tree)
	for _, i := range issues {
		c.issue(issueNode(f.node, i.Path), i.Offset, i.Message, s)
	}
	if len(c.list) > before {
		return nil
	}
	c.asked(f.node, t.Asked(), s)
	c.refuseVersions(f.node, t.Reads(), s)
	c.read(t.Reads(), s)
	return t
}

// issueNode returns the string of a template that is wrong: a value, or a key with
// CEL in it.
func issueNode(template *yaml.Node, path []any) *yaml.Node {
	if len(path) > 0 {
		if key, ok := path[len(path)-1].(string); ok && strings.Contains(key, "${") {
			return keyNode(find(template, path[:len(path)-1]...), key)
		}
	}
	return find(template, path...)
}

// mostPlace is how long the name of a part of a template may be for its place to be
// noted. With MaxDepth and without this, names would be a hundred times as long as the text.
const mostPlace = 1 << 10

// placeAll notes the places of a template and of what can fail in it: expressions, and
// what metadata and stringData say. What is named longer than mostPlace has the place of
// what it stands in.
func (c *compiler) placeAll(f field) {
	c.place(f.what, f.node)
	c.placeBelow(f, false)
}

// placeBelow notes the places below f; literals: also those without expressions.
func (c *compiler) placeBelow(f field, literals bool) {
	step, name := 1, func(i int) string { return join(f.what, i) }
	if f.node.Kind == yaml.MappingNode {
		step, name = 2, func(i int) string { return join(f.what, f.node.Content[i-1].Value) }
	}
	for i := step - 1; i < len(f.node.Content); i += step {
		n := f.node.Content[i]
		isPart := n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode
		if !isPart && !literals && !strings.Contains(n.Value, "${") {
			continue
		}
		below := field{n, name(i)}
		if len(below.what) > mostPlace {
			continue
		}
		key := f.node.Content[i-step+1].Value
		said := step == 2 && (key == "metadata" || key == "stringData")
		if !isPart || said {
			c.place(below.what, n)
		}
		if isPart {
			c.placeBelow(below, said)
		}
	}
}

// tree makes a JSON-like value of n.
func (c *compiler) tree(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		out := map[string]any{}
		pairs(n, func(key, value *yaml.Node) { out[key.Value] = c.tree(value) })
		return out
	case yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for i, item := range n.Content {
			out[i] = c.tree(item)
		}
		return out
	case yaml.ScalarNode:
		out, err := scalarValue(n)
		if err != nil {
			c.at(n, "%v", err)
		}
		return out
	default:
		return nil // an alias: said by lint
	}
}

// scalarValue returns n as JSON has it: a date is the string that it is written as.
func scalarValue(n *yaml.Node) (any, error) {
	switch n.Tag {
	case "!!null":
		return nil, nil
	case "!!bool":
		var b bool
		return b, n.Decode(&b)
	case "!!int":
		var i int64
		if n.Decode(&i) != nil {
			return nil, fmt.Errorf("the number %s is too large: quote it if it is meant as text", n.Value)
		}
		return i, nil
	case "!!float":
		var f float64
		if !strings.Contains(n.Value, ".") && !strings.ContainsAny(n.Value, "eE") {
			return nil, fmt.Errorf("the number %s is too large: quote it if it is meant as text", n.Value)
		}
		if n.Decode(&f) != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return nil, fmt.Errorf("%s is no number in JSON: quote it if it is meant as text", n.Value)
		}
		return f, nil
	default:
		return n.Value, nil
	}
}
