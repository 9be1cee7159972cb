package cel

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	celgo "github.com/google/cel-go/cel"

	"github.com/ambit-dev/ambit/pkg/internal/cel/gofunction"
	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox"
)

// language is an environment without variables, and what makes programs of its expressions.
type language struct {
	env     *celgo.Env
	planner *sandbox.Planner
}

// kubernetesLanguage has no functions of Go. Making it takes milliseconds, so there is one in a process.
var kubernetesLanguage = sync.OnceValues(func() (*language, error) {
	env, err := newBaseEnv()
	if err != nil {
		return nil, err
	}
	if env, err = env.Extend(timeFunctions()...); err != nil {
		return nil, fmt.Errorf("declaring functions of time: %w", err)
	}
	return newLanguage(env)
})

func newLanguage(env *celgo.Env, foreign ...string) (*language, error) {
	planner, err := sandbox.NewPlanner(env, decorateNull, foreign...)
	return &language{env: env, planner: planner}, err
}

// Functions are functions of Go that expressions may call, beside those of Kubernetes. They are
// immutable and safe for concurrent use. A nil Functions has none.
type Functions struct {
	own  *language
	list []*gofunction.Function // by name
}

// keptNamespaces are the namespaces of functions that CEL's extensions, Kubernetes and Ambit have or
// may come to have, beside those in the environment.
var keptNamespaces = strings.Fields("ambit authorizer base64 bitwise cel encoders google ip json k8s kubernetes math net proto regex request strings time type")

// NamedFunction is a function of Go, and what expressions call it by: two or more identifiers with dots between them.
type NamedFunction struct {
	Name     string
	Function any
}

// NewFunctions makes functions callable. The error is all that is wrong with them: what gofunction.New says, and names
// that are taken, by another of the list, by a namespace of CEL or Kubernetes, or by a macro.
func NewFunctions(list []NamedFunction) (*Functions, error) {
	base, err := kubernetesLanguage()
	if err != nil {
		return nil, err
	}
	f := &Functions{}
	var found []error
	var options []celgo.EnvOption
	for i, each := range list {
		problem := takenBy(base.env, each.Name)
		if slices.ContainsFunc(list[:i], func(other NamedFunction) bool { return other.Name == each.Name }) {
			problem = "it is there twice"
		}
		if problem != "" {
			found = append(found, fmt.Errorf("function %q: %s", each.Name, problem))
		}
		function, err := gofunction.New(each.Name, each.Function)
		if err != nil {
			found = append(found, err)
			continue
		}
		f.list, options = append(f.list, function), append(options, function.Declaration())
	}
	if len(found) > 0 {
		return nil, errors.Join(found...)
	}
	slices.SortFunc(f.list, func(a, b *gofunction.Function) int { return strings.Compare(a.Name(), b.Name()) })
	env, err := base.env.Extend(options...)
	if err != nil {
		return nil, fmt.Errorf("declaring functions: %w", err)
	}
	f.own, err = newLanguage(env, f.sortedNames()...)
	return f, err
}

// takenBy says why a function cannot have a name in an environment; empty if it can.
func takenBy(env *celgo.Env, name string) string {
	first, _, isQualified := strings.Cut(name, ".")
	last := name[strings.LastIndexByte(name, '.')+1:]
	isTaken := slices.Contains(keptNamespaces, first)
	for function := range env.Functions() {
		isTaken = isTaken || function == first || strings.HasPrefix(function, first+".")
	}
	switch {
	case !isQualified:
		return "" // it has no form that could be free
	case isTaken:
		return fmt.Sprintf("%q is for functions of CEL, Kubernetes and Ambit: begin with a word of your own, as in acme.%s", first, last)
	case slices.ContainsFunc(env.Macros(), func(m celgo.Macro) bool { return m.IsReceiverStyle() && m.Function() == last }):
		return fmt.Sprintf("%q is a macro of CEL, as which a call would be read: give it another last word", last)
	}
	return ""
}

func (f *Functions) language() (*language, error) {
	if f == nil {
		return kubernetesLanguage()
	}
	return f.own, nil
}

// sortedNames returns the names of the functions, sorted.
func (f *Functions) sortedNames() []string {
	if f == nil {
		return nil
	}
	names := make([]string, len(f.list))
	for i, function := range f.list {
		names[i] = function.Name()
	}
	return names
}

// Namespaces returns the first words of their names, sorted, which nothing else can be called by.
func (f *Functions) Namespaces() []string {
	names := f.sortedNames()
	for i, name := range names {
		names[i], _, _ = strings.Cut(name, ".")
	}
	return slices.Compact(names)
}

// Signatures returns how the functions are called, by name, as in `acme.zone(string, int) -> string`.
func (f *Functions) Signatures() map[string]string {
	signatures := map[string]string{}
	if f != nil {
		for _, function := range f.list {
			signatures[function.Name()] = function.Signature()
		}
	}
	return signatures
}
