package cel

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/ext"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox"
)

// Env is a set of variables that expressions may use, with Kubernetes' functions
// and macros, and Functions. It is immutable and safe for concurrent use.
type Env struct {
	env       *celgo.Env
	planner   *sandbox.Planner // of the functions
	variables map[string]bool
	schemas   map[string]*Schema // of variables; nil: nothing is known
}

// NewEnv is Functions.NewEnv without functions of Go.
func NewEnv(variables ...string) (*Env, error) { return (*Functions)(nil).NewEnv(variables...) }

// NewEnv makes an environment with these variables, all of type dyn. With
// ReadyVar or "ready" among them there is the macro `ready(x)`, and with ClockVar the time may be
// asked. The error is for names that are not identifiers.
func (f *Functions) NewEnv(variables ...string) (*Env, error) {
	declared := make(map[string]bool, len(variables))
	options := make([]celgo.EnvOption, 0, len(variables)+3)
	options = append(options, optionalMacros())
	ready := false
	options = append(options, timeMacros(slices.Contains(variables, ClockVar))...)
	for _, name := range variables {
		if !isIdentifier(name) {
			return nil, fmt.Errorf("making a CEL environment: variable %q is not an identifier", name)
		}
		ready = ready || name == ReadyVar || name == readyMacro
		if name == ReadyVar || name == ClockVar || declared[name] {
			continue
		}
		declared[name] = true
		options = append(options, celgo.Variable(name, celgo.DynType))
	}
	if ready {
		options = append(options, readyOptions(declared)...)
	}
	base, err := f.language()
	if err != nil {
		return nil, err
	}
	env, err := base.env.Extend(options...)
	if err != nil {
		return nil, fmt.Errorf("making a CEL environment with variables %s: %w", strings.Join(variables, ", "), err)
	}
	return &Env{env: env, planner: base.planner, variables: declared}, nil
}

// NewTypedEnv is Functions.NewTypedEnv without functions of Go.
func NewTypedEnv(variables map[string]*Schema) (*Env, error) {
	return (*Functions)(nil).NewTypedEnv(variables)
}

// NewTypedEnv is NewEnv for variables with schemas; nil for one of which nothing
// is known. An expression that reads a field which an object does not have does not
// compile. Nothing else is checked, and evaluation is the same as without schemas.
func (f *Functions) NewTypedEnv(variables map[string]*Schema) (*Env, error) {
	env, err := f.NewEnv(sortedKeys(variables)...)
	if err != nil {
		return nil, err
	}
	env.schemas = maps.Clone(variables)
	return env, nil
}

// QualifiedFunctions returns the names with dots that expressions may call, sorted.
func (e *Env) QualifiedFunctions() []string {
	return slices.DeleteFunc(sortedKeys(e.env.Functions()), func(name string) bool {
		return !strings.Contains(name, ".") || strings.Contains(name, "@")
	})
}

// HasFunction reports whether expressions may call a function of this name, whoever has made it.
func (e *Env) HasFunction(name string) bool { return e.env.HasFunction(name) }

func isIdentifier(name string) bool {
	for i := range len(name) {
		if !isWordByte(name[i]) {
			return false
		}
	}
	return name != "" && (name[0] < '0' || name[0] > '9')
}

// Issue is a mistake in the source of an expression.
type Issue struct {
	// Offset is the place in the source, in bytes.
	Offset int
	// Message is for users and says no place.
	Message string
}

// CompileExpr parses and checks an expression. The issues are all that were found;
// with any, the expression is nil.
//
// cel-go panics over some mistakes, such as a key of bytes, or an entry behind a ?
// that is not optional.
func (e *Env) CompileExpr(source string) (compiled *Expr, found []Issue) {
	defer func() {
		if r := recover(); r != nil {
			compiled, found = nil, []Issue{{Message: "cannot be compiled: keys must be strings, numbers or bools, and entries marked with ? optional"}}
		}
	}()
	checked, issues := e.checkTypes(source)
	if len(issues) > 0 {
		return nil, issues
	}
	if issues := unknownFields(source, checked.NativeRep(), e.schemas); len(issues) > 0 {
		return nil, issues
	}
	root := checked.NativeRep().Expr()
	program, err := e.planner.PlanProgram(e.env, checked)
	if err != nil {
		return nil, []Issue{{Message: err.Error()}}
	}
	reads := readsOf(root, e.variables)
	return &Expr{
		source: source, program: program, root: root,
		output: checked.OutputType(), reads: reads, variables: sortedKeys(reads), asked: readyNames(root), asksTime: asksTime(root),
	}, nil
}

// checkTypes parses an expression and finds its types.
func (e *Env) checkTypes(source string) (*celgo.Ast, []Issue) {
	if found := reservedNames(source); found != nil {
		return nil, toIssues(source, found)
	}
	parsed, issues := e.env.Parse(source)
	if issues != nil && len(issues.Errors()) > 0 {
		return nil, toIssues(source, issues.Errors())
	}
	if found := messageLiterals(parsed.NativeRep()); found != nil {
		return nil, toIssues(source, found)
	}
	relaxLiterals(parsed.NativeRep())
	checked, issues := e.env.Check(parsed)
	if issues != nil && len(issues.Errors()) > 0 {
		return nil, toIssues(source, issues.Errors())
	}
	return checked, nil
}

// messageLiterals finds literals of protocol buffers, which Kubernetes' environment knows
// and JSON does not.
func messageLiterals(parsed *ast.AST) []*common.Error {
	var found []*common.Error
	ast.PreOrderVisit(parsed.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.StructKind {
			found = append(found, &common.Error{
				Location: parsed.SourceInfo().GetStartLocation(e.ID()),
				Message:  fmt.Sprintf("%s{...} is not supported: write a map, as in {'name': 'value'}", e.AsStruct().TypeName()),
			})
		}
	}))
	return found
}

func toIssues(source string, errors []*common.Error) []Issue {
	issues := make([]Issue, len(errors))
	for i, err := range errors {
		issues[i] = Issue{Offset: byteOffset(source, err.Location.Line(), err.Location.Column()), Message: explainTime(err.Message)}
	}
	return issues
}

// byteOffset turns cel-go's place (line from 1, column from 0 in code points) into
// bytes.
func byteOffset(source string, line, column int) int {
	at := 0
	for ; line > 1; line-- {
		next := strings.IndexByte(source[at:], '\n')
		if next < 0 {
			return len(source)
		}
		at += next + 1
	}
	for ; column > 0 && at < len(source); column-- {
		_, size := utf8.DecodeRuneInString(source[at:])
		at += size
	}
	return at
}

// newBaseEnv makes an environment with all that Kubernetes lets into expressions that are stored: a
// policy is not read by an older API server. It is what the package environment of k8s.io/apiserver
// makes for that, which comes with the feature gates and the metrics of an API server; TestBaseEnv
// holds the two to be the same. The options of that one for programs, and its estimation of costs, are
// left out: package sandbox makes the programs, and meters them.
func newBaseEnv() (*celgo.Env, error) {
	return celgo.NewEnv(
		celgo.HomogeneousAggregateLiterals(),
		celgo.EagerlyValidateDeclarations(true),
		celgo.DefaultUTCTimeZone(true),
		celgo.CrossTypeNumericComparisons(true),
		celgo.OptionalTypes(),
		celgo.ASTValidators(
			celgo.ValidateDurationLiterals(),
			celgo.ValidateTimestampLiterals(),
			celgo.ValidateRegexLiterals(),
			celgo.ValidateHomogeneousAggregateLiterals(),
		),
		ext.Lists(ext.ListsVersion(3)),
		ext.Sets(),
		ext.Strings(ext.StringsVersion(2)),
		ext.TwoVarComprehensions(),
		library.Authz(),
		library.AuthzSelectors(),
		library.CIDR(),
		library.Format(),
		library.IP(),
		library.Lists(library.ListsVersion(1)),
		library.Quantity(),
		library.Regex(),
		library.SemverLib(library.SemverVersion(1)),
		library.URLs(),
	)
}
