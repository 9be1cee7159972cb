package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/internal/spelling"
)

// reportIssues adds the mistakes that CEL found in a field.
func (c *expressionCompiler) reportIssues(f field, s scope, issues []cel.Issue) {
	if strings.HasPrefix(strings.TrimSpace(f.node.Value), "${") {
		c.In(f.node, firstWord(f.node.Value), "%s is bare CEL: leave out the ${ and } around it", f.what)
		return
	}
	for _, i := range issues {
		c.reportIssue(f.node, i.Offset, i.Message, s)
	}
}

// reportIssue adds a mistake that CEL found in n.
func (c *expressionCompiler) reportIssue(n *yaml.Node, offset int, message string, s scope) {
	offset = min(max(offset, 0), len(n.Value))
	if undeclared.MatchString(message) && argument.MatchString(n.Value[:offset]) && !slices.Contains(s.vars, readyName) {
		return // that it cannot be asked here is said of ready() itself
	}
	c.In(n, nameAt(n.Value, offset), "%s", c.explainIssue(message, s))
}

// argument is what stands before the argument of ready().
var argument = regexp.MustCompile(`\bready\(\s*$`)

// nameAt goes from the parenthesis of a call, where CEL reports it, to its name.
func nameAt(s string, offset int) int {
	if offset >= len(s) || s[offset] != '(' {
		return offset
	}
	for offset > 0 && strings.IndexByte(" ${}[](),!?:&|=<>+-*/%\"'\n\t", s[offset-1]) < 0 {
		offset--
	}
	return offset
}

var undeclared = regexp.MustCompile(`undeclared reference to '([^']*)'( in ready\(\))?`)

// explainIssue makes the message of an unknown name say what could have been meant.
func (c *expressionCompiler) explainIssue(message string, s scope) string {
	m := undeclared.FindStringSubmatch(message)
	if m == nil {
		return plainMessage(message)
	}
	name, asked := m[1], m[2] != ""
	switch kind := c.symbols.kindOf(name); {
	case asked && kind == "":
		return fmt.Sprintf("there is no child %q%s", name, spelling.Suggest(name, c.symbols.children))
	case name == readyName && slices.Contains(s.vars, name):
		return "ready is asked of a child by its id, as in ready(deployment)"
	case name == readyName:
		return "ready() cannot be asked here; in scope: " + inScope(s.vars)
	case slices.Contains(s.vars, name) || !identifier.MatchString(name):
		return message
	case kind == "element":
		return fmt.Sprintf("%q, the element of forEach, can only be read in template and readyWhen of its own child; in scope: %s", name, inScope(s.vars))
	case len(c.symbols.watchesBehind(name)) > 0 && kind == "variable":
		return fmt.Sprintf("variable %q reads watch %q, which is not known here; in scope: %s", name, c.symbols.watchesBehind(name)[0], inScope(s.vars))
	case kind != "":
		return fmt.Sprintf("the %s %q cannot be read here; in scope: %s", kind, name, inScope(s.vars))
	default:
		return fmt.Sprintf("unknown variable or function %q%s; in scope: %s", name, spelling.Suggest(name, s.vars), inScope(s.vars))
	}
}

var unexpected = regexp.MustCompile(`(?:mismatched|extraneous) input ('[^']*') expecting .*`)

// plainMessage takes the words of the parser generator out of a message.
func plainMessage(message string) string {
	message = unexpected.ReplaceAllString(message, "unexpected $1")
	message = strings.ReplaceAll(message, "unexpected '<EOF>'", "unexpected end of the expression")
	return strings.ReplaceAll(message, "at '<EOF>'", "at the end of the expression")
}

// inScope lists names, the first of them at least.
func inScope(vars []string) string {
	const most = 12
	vars = slices.Clone(vars)
	if i := slices.Index(vars, readyName); i >= 0 {
		vars[i] = "ready()"
	}
	if len(vars) <= most {
		return strings.Join(vars, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(vars[:most], ", "), len(vars)-most)
}
