package policy

import (
	"slices"
	"strings"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
)

// want is the type that an expression must have. An expression whose type is only
// known at run time is always legal.
type want struct {
	words string
	types []string // names of CEL types, without their parameters; none: any
}

// The types that fields of a policy want.
var (
	wantAny      = want{}
	wantBool     = want{"a bool", []string{"bool"}}
	wantString   = want{"a string", []string{"string"}}
	wantStatus   = want{"a bool, or one of 'True', 'False', 'Unknown'", []string{"bool", "string"}}
	wantList     = want{"a list", []string{"list"}}
	wantDuration = want{"a duration, as in duration('10m')", []string{"google.protobuf.Duration", "duration"}}
)

// expr compiles a field of bare CEL in its scope, and notes what it reads; nil if
// the field is not there or not right.
func (c *compiler) expr(f field, s scope, w want) *cel.Expr {
	x := c.unread(f, s, w)
	if x != nil {
		c.read(x.Reads(), s)
	}
	return x
}

// unread is expr, but notes nothing.
func (c *compiler) unread(f field, s scope, w want) *cel.Expr {
	if !f.isText() {
		return nil
	}
	c.place(f.what, f.node)
	if !c.affords(f.node) {
		return nil
	}
	env := c.env(s)
	if env == nil {
		return nil
	}
	x, issues := env.Compile(f.node.Value)
	if len(issues) > 0 {
		c.issues(f, s, issues)
		return nil
	}
	if got := x.OutputType().String(); !w.accepts(got) {
		c.in(f.node, firstWord(f.node.Value), "%s must be %s, is %s%s", f.what, w.words, got, optionalHint(got))
		return nil
	}
	c.asked(f.node, x.Asked(), s)
	c.refuseVersions(f.node, x.Reads(), s)
	return x
}

func firstWord(s string) int { return len(s) - len(strings.TrimLeft(s, " \t\r\n")) }

func (w want) accepts(got string) bool {
	name, _, _ := strings.Cut(got, "(")
	return len(w.types) == 0 || got == "dyn" || slices.Contains(w.types, name)
}

// optionalHint says what makes a value of an optional.
func optionalHint(got string) string {
	if strings.HasPrefix(got, "optional_type(") {
		return ": say with .orValue(...) what it is when it is absent"
	}
	return ""
}

// env returns the environment of a scope; `ready` is a macro.
func (c *compiler) env(s scope) *cel.Env {
	vars := slices.Clone(s.vars)
	if i := slices.Index(vars, readyName); i >= 0 {
		vars[i] = cel.ReadyVar
	}
	slices.Sort(vars)
	key, typed := envKey{names: strings.Join(vars, " ")}, c.typed(s)
	if typed != nil {
		key.object, key.one, key.element = typed["object"], typed[s.one], typed[s.element]
	}
	if env, ok := c.envs[key]; ok {
		return env
	}
	env, err := newEnv(vars, typed)
	if err != nil {
		c.at(c.root, "making the CEL environment for %s: %v", key.names, err)
	}
	c.envs[key] = env
	return env
}

// envKey tells environments apart: the same name may stand for values of different
// types.
type envKey struct {
	names                string
	object, one, element *cel.Schema
}

// newEnv makes an environment; typed has the schemas of variables that have one.
func newEnv(vars []string, typed map[string]*cel.Schema) (*cel.Env, error) {
	if typed == nil {
		return cel.NewEnv(vars...)
	}
	all := map[string]*cel.Schema{}
	for _, name := range vars {
		all[name] = typed[name]
	}
	return cel.NewTypedEnv(all)
}
