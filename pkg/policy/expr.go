package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
)

// want is the type that an expression must have. An expression whose type is only
// known at run time is always legal.
type want struct {
	words string
	types []string // names of CEL types; none: any
}

// The types that fields of a policy want.
var (
	wantAny      = want{}
	wantBool     = want{"a bool", []string{"bool"}}
	wantString   = want{"a string", []string{"string"}}
	wantStatus   = want{"a bool, or one of 'True', 'False', 'Unknown'", []string{"bool", "string"}}
	wantDuration = want{"a duration, as in duration('10m')", []string{"google.protobuf.Duration", "duration"}}
)

// expr compiles a field of bare CEL that sees the given variables; nil if the
// field is not there or not right.
func (c *compiler) expr(f field, vars []string, w want) *cel.Expr {
	return c.exprOf(f, vars, w, "")
}

// exprOf is expr where `object` stands for something.
func (c *compiler) exprOf(f field, vars []string, w want, object string) *cel.Expr {
	if !f.isText() {
		return nil
	}
	c.place(f.what, f.node)
	env := c.env(vars)
	if env == nil {
		return nil
	}
	x, issues := env.Compile(f.node.Value)
	if len(issues) > 0 {
		c.issues(f, vars, issues)
		return nil
	}
	if got := x.OutputType().String(); !w.accepts(got) {
		c.in(f.node, firstWord(f.node.Value), "%s must be %s, is %s", f.what, w.words, got)
		return nil
	}
	c.read(x.Reads(), object)
	return x
}

func firstWord(s string) int { return len(s) - len(strings.TrimLeft(s, " \t\r\n")) }

func (w want) accepts(got string) bool {
	return len(w.types) == 0 || got == "dyn" || slices.Contains(w.types, got)
}

// env returns the environment with these variables.
func (c *compiler) env(vars []string) *cel.Env {
	vars = slices.Clone(vars)
	slices.Sort(vars)
	key := strings.Join(vars, " ")
	if env, ok := c.envs[key]; ok {
		return env
	}
	env, err := cel.NewEnv(vars...)
	if err != nil {
		c.at(c.root, "making the CEL environment for %s: %v", key, err)
	}
	c.envs[key] = env
	return env
}

func (c *compiler) issues(f field, vars []string, issues []cel.Issue) {
	if strings.HasPrefix(strings.TrimSpace(f.node.Value), "${") {
		c.in(f.node, firstWord(f.node.Value), "%s is bare CEL: leave out the ${ and } around it", f.what)
		return
	}
	for _, i := range issues {
		c.in(f.node, nameAt(f.node.Value, i.Offset), "%s", c.explain(i.Message, vars))
	}
}

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

var undeclared = regexp.MustCompile(`undeclared reference to '([^']*)'`)

// explain makes the message of an unknown name say what could have been meant.
func (c *compiler) explain(message string, vars []string) string {
	m := undeclared.FindStringSubmatch(message)
	if m == nil {
		return plainly(message)
	}
	name := m[1]
	switch kind := c.names.kindOf(name); {
	case name == "ready":
		return "ready() is not implemented yet"
	case slices.Contains(vars, name) || !identifier.MatchString(name):
		return message
	case kind != "":
		return fmt.Sprintf("the %s %q cannot be read here; in scope: %s", kind, name, inScope(vars))
	default:
		return fmt.Sprintf("unknown variable or function %q%s; in scope: %s", name, suggest(name, vars), inScope(vars))
	}
}

var unexpected = regexp.MustCompile(`(?:mismatched|extraneous) input ('[^']*') expecting .*`)

// plainly takes the words of the parser generator out of a message.
func plainly(message string) string {
	message = unexpected.ReplaceAllString(message, "unexpected $1")
	message = strings.ReplaceAll(message, "unexpected '<EOF>'", "unexpected end of the expression")
	return strings.ReplaceAll(message, "at '<EOF>'", "at the end of the expression")
}

// inScope lists names, the first of them at least.
func inScope(vars []string) string {
	const most = 12
	if len(vars) <= most {
		return strings.Join(vars, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(vars[:most], ", "), len(vars)-most)
}
