package policy

import (
	"fmt"
	"maps"
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
	at := nameAt(n.Value, offset)
	if name := undeclared.FindStringSubmatch(message); name != nil {
		if call := c.unknownFunction(n.Value[at:], s); call != "" && strings.HasPrefix(call, name[1]+".") {
			c.unknown = calledAt{n, at}
			c.In(n, at, "%s", c.explainFunction(call, s))
			return
		}
		if c.unknown == (calledAt{n, at}) {
			return // CEL reports the first and the last word of the name
		}
	}
	c.In(n, at, "%s", c.explainIssue(message, s))
}

// calledAt is a place where a function is called.
type calledAt struct {
	node   *yaml.Node
	offset int
}

// functionCall is a call of a function whose name has dots in it.
var functionCall = regexp.MustCompile(`^([a-zA-Z_]\w*)(?:\.[a-zA-Z_]\w*)*\.([a-zA-Z_]\w*)\s*\(`)

// unknownFunction returns the name of the function that is called where the text begins, if nothing else can be meant: its
// first word is like no name of the policy, and its last is no function that values have. Else it is empty.
func (c *expressionCompiler) unknownFunction(text string, s scope) string {
	m := functionCall.FindStringSubmatch(text)
	if m == nil || c.symbols.kindOf(m[1]) != "" || spelling.Suggest(m[1], s.vars) != "" || c.environmentFor(s).HasFunction(m[2]) {
		return ""
	}
	return strings.TrimRight(m[0], "( \t\r\n")
}

// explainFunction says of a function that is not known what could have been meant, and where it may come from.
func (c *expressionCompiler) explainFunction(name string, s scope) string {
	own := slices.Sorted(maps.Keys(c.functions.Signatures()))
	hint := "no other is built into this program"
	if len(own) > 0 {
		hint = "built into this program are " + inScope(own)
	}
	return fmt.Sprintf("unknown function %q%s: it is none of CEL or Kubernetes, and %s", name, spelling.Suggest(name, c.environmentFor(s).QualifiedFunctions()), hint)
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

var noOverload = regexp.MustCompile(`^found no matching overload for '([^']*)' applied to `)

// explainIssue makes the message of an unknown name say what could have been meant, and that of a function of Go how
// it is called.
func (c *expressionCompiler) explainIssue(message string, s scope) string {
	if m := noOverload.FindStringSubmatch(message); m != nil && c.functions.Signatures()[m[1]] != "" {
		return message + ": it is " + c.functions.Signatures()[m[1]]
	}
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
	case c.symbols.timed[name]:
		return fmt.Sprintf("variable %q asks the time, which is not known here; in scope: %s", name, inScope(s.vars))
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
