package policy

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// template compiles the template at f in its scope; nil if it is not there or not
// right.
func (c *expressionCompiler) compileTemplate(f field, s scope) *cel.Template {
	if f.node == nil {
		return nil
	}
	c.noteTemplatePlaces(f)
	if !c.countExpressions(f.node) {
		return nil
	}
	env, before := c.environmentFor(s), c.Count()
	tree := c.Value(f.node)
	if env == nil {
		return nil
	}
	t, issues := env.CompileTemplate(tree)
	for _, i := range issues {
		c.reportIssue(issueNode(f.node, i.Path), i.Offset, i.Message, s)
	}
	if c.Count() > before {
		return nil
	}
	c.checkReadyRefs(f.node, t.Asked(), s)
	c.refuseVersions(f.node, t.Reads(), s)
	c.noteReads(t.Reads(), s)
	return t
}

// issueNode returns the string of a template that is wrong: a value, or a key with
// CEL in it.
func issueNode(template *yaml.Node, path []any) *yaml.Node {
	if len(path) > 0 {
		if key, ok := path[len(path)-1].(string); ok && strings.Contains(key, "${") {
			return syntax.KeyNode(syntax.LookupNearest(template, path[:len(path)-1]...), key)
		}
	}
	return syntax.LookupNearest(template, path...)
}
