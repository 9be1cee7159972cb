package cel

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"k8s.io/apiserver/pkg/cel/environment"
)

// Env is a set of variables that expressions may use, with Kubernetes' functions
// and macros. It is immutable and safe for concurrent use.
type Env struct {
	env       *celgo.Env
	variables map[string]bool
}

// base is the environment without variables. Making it takes milliseconds, so
// there is one in a process. All that Kubernetes lets into stored expressions
// is in it: a policy is not read by an older API server.
var base = sync.OnceValue(func() *celgo.Env {
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).StoredExpressionsEnv()
})

// NewEnv makes an environment with these variables, all of type dyn. The error
// is for names that are not identifiers.
func NewEnv(variables ...string) (*Env, error) {
	declared := make(map[string]bool, len(variables))
	options := make([]celgo.EnvOption, 0, len(variables))
	for _, name := range variables {
		if !isIdentifier(name) {
			return nil, fmt.Errorf("making a CEL environment: variable %q is not an identifier", name)
		}
		declared[name] = true
		options = append(options, celgo.Variable(name, celgo.DynType))
	}
	env, err := base().Extend(options...)
	if err != nil {
		return nil, fmt.Errorf("making a CEL environment with variables %s: %w", strings.Join(variables, ", "), err)
	}
	return &Env{env: env, variables: declared}, nil
}

func isIdentifier(name string) bool {
	for i := range len(name) {
		if !isWord(name[i]) {
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

// Compile parses and checks an expression. The issues are all that were found;
// with any, the expression is nil.
func (e *Env) Compile(source string) (*Expr, []Issue) {
	parsed, issues := e.env.Parse(source)
	if issues != nil && len(issues.Errors()) > 0 {
		return nil, toIssues(source, issues.Errors())
	}
	loosen(parsed.NativeRep())
	checked, issues := e.env.Check(parsed)
	if issues != nil && len(issues.Errors()) > 0 {
		return nil, toIssues(source, issues.Errors())
	}
	root := checked.NativeRep().Expr()
	simple := isSimple(root)
	program, err := e.program(checked, simple)
	if err != nil {
		return nil, []Issue{{Message: err.Error()}}
	}
	reads := readsOf(root, e.variables)
	return &Expr{
		source: source, program: program, simple: simple, root: root,
		output: checked.OutputType(), reads: reads, variables: sortedKeys(reads),
	}, nil
}

func toIssues(source string, errors []*common.Error) []Issue {
	issues := make([]Issue, len(errors))
	for i, err := range errors {
		issues[i] = Issue{Offset: offset(source, err.Location.Line(), err.Location.Column()), Message: err.Message}
	}
	return issues
}

// offset turns cel-go's place (line from 1, column from 0 in code points) into
// bytes.
func offset(source string, line, column int) int {
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
