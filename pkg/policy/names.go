package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
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
