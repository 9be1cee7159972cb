package policy

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
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

// expressionCompiler compiles the expressions and templates of a policy, and notes what they
// read.
type expressionCompiler struct {
	*policyText
	symbols   *symbolTable
	functions *cel.Functions
	envs      map[envKey]*cel.Env
	reads     map[string]*fields.Set // what the expressions so far read, by variable; of lists: of one object
	// unknown is where a function that is not known is called, so that this is said once.
	unknown calledAt
	// exprBytes is how many bytes the expressions so far have.
	exprBytes int
	// private are the keys of made values that no expression may read, by child.
	private map[string][]string
	// asksTime: one of the expressions so far asks the time.
	asksTime bool
}

func newExpressionCompiler(text *policyText, o Options) *expressionCompiler {
	functions := o.Functions.celFunctions()
	symbols := &symbolTable{namespaces: functions.Namespaces(), watchesOf: map[string][]string{}, timed: map[string]bool{}, symbolTypes: symbolTypes{schemas: o.Schemas}}
	return &expressionCompiler{policyText: text, symbols: symbols, functions: functions, envs: map[envKey]*cel.Env{}, reads: map[string]*fields.Set{}}
}

// compileExpr compiles a field of bare CEL in its scope, and notes what it reads; nil if
// the field is not there or not right.
func (c *expressionCompiler) compileExpr(f field, s scope, w want) *cel.Expr {
	x := c.compileUnread(f, s, w)
	if x != nil {
		c.noteReads(x.FieldsRead(), s)
	}
	return x
}

// compileUnread is compileExpr, but notes nothing.
func (c *expressionCompiler) compileUnread(f field, s scope, w want) *cel.Expr {
	if !f.isText() {
		return nil
	}
	c.notePlace(f.what, f.node)
	if !c.countExpressions(f.node) {
		return nil
	}
	env := c.environmentFor(s)
	if env == nil {
		return nil
	}
	x, issues := env.CompileExpr(f.node.Value)
	if len(issues) > 0 {
		c.reportIssues(f, s, issues)
		return nil
	}
	if got := x.OutputType().String(); !w.acceptsType(got) {
		c.In(f.node, firstWord(f.node.Value), "%s must be %s, is %s%s", f.what, w.words, got, optionalHint(got))
		return nil
	}
	c.asksTime = c.asksTime || x.AsksTime()
	c.checkReadyRefs(f.node, x.AskedReady(), s)
	c.refuseVersions(f.node, x.FieldsRead(), s)
	c.refusePrivate(f.node, x.FieldsRead(), s)
	return x
}

func firstWord(s string) int { return len(s) - len(strings.TrimLeft(s, " \t\r\n")) }

func (w want) acceptsType(got string) bool {
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

// compileTemplate compiles the template at f in its scope; nil if it is not there or not
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
	c.asksTime = c.asksTime || t.AsksTime()
	c.checkReadyRefs(f.node, t.AskedReady(), s)
	c.refuseVersions(f.node, t.FieldsRead(), s)
	c.refusePrivate(f.node, t.FieldsRead(), s)
	c.noteReads(t.FieldsRead(), s)
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

// environmentFor returns the environment of a scope; `ready` is a macro, and so is what asks the time.
func (c *expressionCompiler) environmentFor(s scope) *cel.Env {
	vars := slices.Clone(s.vars)
	if i := slices.Index(vars, readyName); i >= 0 {
		vars[i] = cel.ReadyVar
	}
	if s.timed {
		vars = append(vars, cel.ClockVar)
	}
	slices.Sort(vars)
	key, typed := envKey{names: strings.Join(vars, " ")}, c.symbols.typesIn(s)
	if typed != nil {
		key.object, key.one, key.element = typed["object"], typed[s.one], typed[s.element]
	}
	if env, ok := c.envs[key]; ok {
		return env
	}
	env, err := c.newEnv(vars, typed)
	if err != nil {
		c.At(c.root, "making the CEL environment for %s: %v", key.names, err)
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
func (c *expressionCompiler) newEnv(vars []string, typed map[string]*cel.Schema) (*cel.Env, error) {
	if typed == nil {
		return c.functions.NewEnv(vars...)
	}
	all := map[string]*cel.Schema{}
	for _, name := range vars {
		all[name] = typed[name]
	}
	return c.functions.NewTypedEnv(all)
}

// MostExpressionBytes is how much text all expressions of one policy may have together, in
// bytes: bare CEL, and each string of a template that has CEL in it. It bounds what one
// policy costs those who wait for the compiler.
const MostExpressionBytes = 256 << 10

// countExpressions counts the text of the expressions in n, a field of CEL or a template, and reports
// whether they may be compiled. The first that is over the limit is a mistake; none after it
// is compiled.
func (c *expressionCompiler) countExpressions(n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode {
		c.countTemplate(n)
	} else {
		c.countText(n)
	}
	return c.exprBytes <= MostExpressionBytes
}

// countTemplate counts the strings of a template that have CEL in them, keys included.
func (c *expressionCompiler) countTemplate(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "${") {
		c.countText(n)
	}
	for _, item := range n.Content {
		c.countTemplate(item)
	}
}

func (c *expressionCompiler) countText(n *yaml.Node) {
	within := c.exprBytes <= MostExpressionBytes
	if c.exprBytes += len(n.Value); within && c.exprBytes > MostExpressionBytes {
		c.At(n, "the expressions of the policy have more than %d bytes of text up to here: make two policies of it", MostExpressionBytes)
	}
}

// readsOf returns what an expression reads that is made of one of the policy; nil if it does
// not compile.
func (c *expressionCompiler) readsOf(source string, s scope) map[string]*fields.Set {
	x, issues := c.environmentFor(s).CompileExpr(source)
	if len(issues) > 0 {
		return nil
	}
	return x.FieldsRead()
}
