package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
)

// Functions are functions of Go that the expressions of policies may call, beside those of CEL and Kubernetes. They are
// given to the compiler (Options), and so to whatever compiles policies: manager.Sources, cli.WithFunctions. A policy that
// calls one is not legal for a program that does not have it.
//
// Functions are immutable and safe for concurrent use, and so are programs that call them. A nil *Functions has none.
type Functions struct{ known *cel.Functions }

// GoFunction is a function with its name, as Function makes it for NewFunctions.
type GoFunction struct{ named cel.NamedFunction }

// Function has expressions call a Go function by a name, as in `acme.zone(owner.metadata.name, 3)`. Whether that is
// possible is said by NewFunctions.
//
// The name is two words or more with dots between them, each of them letters, digits and _. The first is a word of yours:
// CEL and Kubernetes get new functions with each version, and none of these begins with it. It cannot be the name of
// a variable, child or watch of a policy then.
//
// The Go function takes any number of arguments and gives one result, or a result and an error. All of them are string,
// bool, int64, int, float64, []byte, time.Duration, time.Time or any, or []T and map[string]T of these but for
// bytes and times; any is what JSON has, as map[string]any, []any, string, int64, float64, bool and nil. An expression whose
// arguments are of other types does not compile, or if that is not known before, fails. Nothing is converted: 3 is no float64.
// Arguments and results are copied: the function may change and keep what it is given, and go on using what it has given.
//
// The function has to be pure: its result follows from its arguments, and from nothing else. It does no I/O, reads no clock and
// no variable that changes, and does not depend on the order of a map. Ambit calls it when it likes, from several
// goroutines at once, and may keep a result in place of another call; a plan that is made twice from the same objects has to
// be the same, or the owner never comes to rest.
//
// It is bounded as CEL's own are, as far as Go allows: each call takes 64 steps, and those of going through its arguments and its
// result, neither of which may be larger than 1.5 MiB. Its time counts, but while it runs nothing can end it: it has
// to return soon whatever it is given. A panic and an error are errors of the expression, which name the function. Their text gets into
// the status of owners and into the log; what stands in double or back quotes in it (%q) is left out there, for it may come from a
// Secret. What ends a process of Go in any case, as a stack that is too deep, or os.Exit, ends this one.
func Function(name string, function any) GoFunction {
	return GoFunction{cel.NamedFunction{Name: name, Function: function}}
}

// NewFunctions makes functions callable. The error names all that is wrong with all of them. It takes milliseconds: do it once.
func NewFunctions(list ...GoFunction) (*Functions, error) {
	var found []error
	named := make([]cel.NamedFunction, len(list))
	for i, each := range list {
		named[i] = each.named
		if problem := functionNameProblem(each.named.Name); problem != "" {
			found = append(found, fmt.Errorf("function %q: %s", each.named.Name, problem))
		}
	}
	known, err := cel.NewFunctions(named)
	if err := errors.Join(append(found, err)...); err != nil {
		return nil, fmt.Errorf("functions of policies:\n%w", err)
	}
	return &Functions{known}, nil
}

// functionNameProblem says what is wrong with the form of a function's name; empty if nothing is.
func functionNameProblem(name string) string {
	words := strings.Split(name, ".")
	for _, word := range words {
		if !identifier.MatchString(word) || slices.Contains(reservedWords, word) {
			return "a name is words of letters, digits and _ with dots between them, as in acme.zone, and none is a reserved word of CEL"
		}
	}
	switch {
	case len(words) == 1:
		return fmt.Sprintf("CEL and Kubernetes may come to have a function of that name: put a word of your own before it, as in acme.%s", name)
	case slices.Contains(boundNames, words[0]):
		return fmt.Sprintf("%q is bound in expressions by Ambit itself: begin with a word of your own, as in acme.%s", words[0], words[len(words)-1])
	}
	return ""
}

// celFunctions returns what package cel has them as.
func (f *Functions) celFunctions() *cel.Functions {
	if f == nil {
		return nil
	}
	return f.known
}
