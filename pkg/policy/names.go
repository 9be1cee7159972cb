package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"
)

// names are those that expressions may refer to, as far as they are legal.
type names struct{ variables, children, watches []string }

// all returns what status, conditions and the like may refer to.
func (n names) all() []string {
	return slices.Concat(n.planned(), n.children, n.watches)
}

// planned returns what is known before anything was observed but the owner.
func (n names) planned() []string {
	return slices.Concat([]string{"owner", "policy", "access"}, n.variables)
}

// selecting returns what selectors of watches may refer to.
func (n names) selecting() []string {
	return slices.Concat([]string{"owner", "policy"}, n.variables)
}

// template returns what the template of a child may refer to.
func (n names) template(child string) []string {
	return slices.DeleteFunc(n.all(), func(s string) bool { return s == child })
}

// kindOf says what a name is in the policy, "" if it is nothing.
func (n names) kindOf(name string) string {
	switch {
	case slices.Contains(n.variables, name):
		return "variable"
	case slices.Contains(n.children, name):
		return "child"
	case slices.Contains(n.watches, name):
		return "watch"
	case slices.Contains(boundNames, name):
		return "name"
	default:
		return ""
	}
}

// boundNames are those that Ambit itself binds.
var boundNames = []string{"owner", "object", "policy", "access", "ready"}

// reservedWords cannot be identifiers in CEL.
var reservedWords = strings.Fields(`true false null in as break const continue else for function if import let loop
	package namespace return var void while`)

var identifier = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

const mostName = 63

// collectNames checks the names of variables, children and watches.
func (c *compiler) collectNames() names {
	first := map[string]*yaml.Node{}
	spec := c.policy.Spec
	var out names
	for i := range spec.Variables {
		out.variables = c.appendName(out.variables, first, c.field("", "variables", i, "name"))
	}
	for i := range spec.Children {
		out.children = c.appendName(out.children, first, c.field("", "children", i, "id"))
	}
	for i := range spec.Watches {
		out.watches = c.appendName(out.watches, first, c.field("", "watches", i, "id"))
	}
	return out
}

func (c *compiler) appendName(list []string, first map[string]*yaml.Node, f field) []string {
	if !f.isText() {
		return list
	}
	name := f.node.Value
	if problem := nameProblem(name); problem != "" {
		c.at(f.node, "%q cannot be a name: %s", shorten(name), problem)
		return list
	}
	if before := first[name]; before != nil {
		c.at(f.node, "%q is the name of something else already, at line %d: variables, children and watches share their names",
			name, c.src.errorAt(c.src.offset(before), "").Line)
		return list
	}
	first[name] = f.node
	return append(list, name)
}

func nameProblem(name string) string {
	switch {
	case len(name) > mostName:
		return fmt.Sprintf("it is longer than %d characters", mostName)
	case !identifier.MatchString(name):
		return "expressions refer to it, so it must be letters, digits and _, and not begin with a digit"
	case slices.Contains(boundNames, name):
		return "Ambit binds it itself"
	case slices.Contains(reservedWords, name):
		return "it is a reserved word of CEL"
	case strings.HasPrefix(name, "__"):
		return "names that begin with __ are for CEL's macros"
	default:
		return ""
	}
}

// metadata checks the name, which becomes the value of a label and a part of a
// field manager.
func (c *compiler) metadata() {
	c.program.Name, c.program.Namespace = c.policy.Name, c.policy.Namespace
	name := lookup(c.root, "metadata", "name")
	if name == nil {
		c.at(find(c.root, "metadata"), "metadata.name is required")
	} else if c.policy.Name != "" || name.Value == "" {
		c.checkName(name, "metadata.name", validation.IsDNS1123Subdomain)
	}
	if n := lookup(c.root, "metadata", "namespace"); n != nil && c.policy.Namespace != "" {
		c.checkName(n, "metadata.namespace", validation.IsDNS1123Label)
	}
}

func (c *compiler) checkName(n *yaml.Node, what string, check func(string) []string) {
	if n.Kind != yaml.ScalarNode {
		return
	}
	if len(n.Value) > mostName {
		c.at(n, "%s is longer than %d characters: it becomes the value of a label", what, mostName)
		return
	}
	for _, problem := range check(n.Value) {
		c.at(n, "%s %q is not valid: %s", what, n.Value, brief(problem))
	}
}

// regexes are what Kubernetes adds to the messages of its validation.
var regexes = regexp.MustCompile(` \(e\.g\. .*regex used for validation is '.*?'\)`)

func brief(problem string) string { return regexes.ReplaceAllString(problem, "") }

// scope checks the names of namespaces.
func (c *compiler) scope() {
	if c.policy.Spec.Scope == nil {
		return
	}
	c.program.Namespaces = c.namespaces("namespaces", c.policy.Spec.Scope.Namespaces)
	c.program.Exclude = c.namespaces("exclude", c.policy.Spec.Scope.Exclude)
}

func (c *compiler) namespaces(list string, values []string) []string {
	var out []string
	for i, v := range values {
		n := find(c.root, "spec", "scope", list, i)
		switch {
		case v == "":
		case slices.Contains(out, v):
			c.at(n, "namespace %q stands here for the second time", v)
		default:
			c.checkName(n, fmt.Sprintf("spec.scope.%s[%d]", list, i), validation.IsDNS1123Label)
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}
