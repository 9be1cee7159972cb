package policy

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// names are those that expressions may refer to, as far as they are legal.
type names struct {
	variables, children, watches []string
	// elements are the variables of forEach.
	elements []string
	// lists are the children and watches that stand for a list of objects.
	lists []string
}

// all returns what status, conditions and the like may refer to.
func (n names) all() []string {
	return slices.Concat([]string{"owner", "policy", "access", readyName}, n.variables, n.children, n.watches)
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
	case slices.Contains(n.elements, name):
		return "element"
	case slices.Contains(boundNames, name):
		return "name"
	default:
		return ""
	}
}

// readyName is what asks for the readiness of a child.
const readyName = "ready"

// boundNames are those that Ambit itself binds.
var boundNames = []string{"owner", "object", "policy", "access", readyName}

// reservedWords cannot be identifiers in CEL.
var reservedWords = strings.Fields(`true false null in as break const continue else for function if import let loop
	package namespace return var void while`)

var identifier = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

const mostName = 63

// collectNames checks the names of variables, children, watches, elements of
// forEach and what is ensured.
func (c *compiler) collectNames() names {
	first := map[string]*yaml.Node{}
	spec := c.policy.Spec
	var out names
	for i := range spec.Variables {
		out.variables = c.appendName(out.variables, first, c.field("", "variables", i, "name"))
	}
	for i, child := range spec.Children {
		out.children = c.appendName(out.children, first, c.field("", "children", i, "id"))
		if child.ForEach != nil {
			out.lists = append(out.lists, child.ID)
		}
	}
	for i, w := range spec.Watches {
		out.watches = c.appendName(out.watches, first, c.field("", "watches", i, "id"))
		out.lists = append(out.lists, w.ID)
	}
	for i := range spec.Ensure {
		c.appendName(nil, first, c.field("", "ensure", i, "id"))
	}
	for i := range spec.Children { // two may use the same: it is theirs alone
		out.elements = c.appendName(out.elements, maps.Clone(first), c.field("", "children", i, "forEach", "as"))
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
		c.at(f.node, "%q is the name of something else already, at line %d: each name stands for one thing",
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
