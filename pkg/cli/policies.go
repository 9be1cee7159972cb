package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// loaded is what a set of files holds.
type loaded struct {
	// programs are the policies without mistakes, in the order of the files.
	programs []*policy.Program
	// broken are what can be salvaged of the others: they can clean up.
	broken []*policy.Program
	// findings are all mistakes, in the order of the files, by position.
	findings syntax.Errors
}

// load parses and compiles every policy in the files. That files hold no policy
// at all is a usage error; mistakes in them are findings.
func load(names []string, stdin io.Reader) (loaded, error) {
	sources, err := readPolicies(names, stdin)
	if err != nil {
		return loaded{}, err
	}
	return compile(sources, nil), nil
}

// source is one file, parsed.
type source struct {
	file      file
	documents []*syntax.Document
	// err is the mistakes of what is no document; nil for none.
	err error
}

// readPolicies parses the files. That they hold no policy at all is a usage error.
func readPolicies(names []string, stdin io.Reader) ([]source, error) {
	if len(names) == 0 {
		return nil, usageErrorf("no policy was given: use -f FILE or -f FOLDER")
	}
	files, err := readFiles(names, stdin)
	if err != nil {
		return nil, err
	}
	var sources []source
	some := false
	for _, f := range files {
		documents, err := syntax.Parse(f.name, f.data)
		some = some || err != nil || len(documents) > 0
		sources = append(sources, source{file: f, documents: documents, err: err})
	}
	if !some {
		return nil, usageErrorf("no ReconcilePolicy in %s", joined(names))
	}
	return sources, nil
}

// compile compiles every policy in the sources. The fields of kinds that schemas
// knows are checked; nil: of none.
func compile(sources []source, schemas policy.Schemas) loaded {
	l := loaded{}
	places := map[string]string{}
	for _, from := range sources {
		l.report(from.file, from.err)
		for _, document := range from.documents {
			l.add(from.file, document, schemas, places)
		}
	}
	return l
}

// add compiles one policy of a file. places says by name where a policy stands.
// Names must differ, whatever the namespace: children are found and fields are
// managed by the name.
func (l *loaded) add(f file, document *syntax.Document, schemas policy.Schemas, places map[string]string) {
	program, err := policy.CompileWith(document, schemas)
	if err != nil {
		l.report(f, err)
		l.salvage(document, places)
		return
	}
	if first, taken := places[program.Name]; taken {
		l.findings = append(l.findings, duplicate(f, program, first))
		return
	}
	places[program.Name] = program.Place("")
	l.programs = append(l.programs, program)
}

// salvage keeps of a policy with mistakes what can clean up, if it can be told
// whose owners they are and no other policy has the name.
func (l *loaded) salvage(document *syntax.Document, places map[string]string) {
	program, err := policy.Salvage(document)
	if err != nil {
		return // the mistakes are reported already
	}
	if _, taken := places[program.Name]; taken {
		return
	}
	places[program.Name] = program.Place("")
	l.broken = append(l.broken, program)
}

// duplicate is the mistake of a policy whose name another one has, which stands
// at first.
func duplicate(f file, program *policy.Program, first string) *syntax.Error {
	place := program.Place("")
	line, err := strconv.Atoi(place[strings.LastIndex(place, ":")+1:])
	if err != nil {
		line = 1
	}
	return mistake(f, line, fmt.Sprintf("another policy at %s has the name %q", first, program.Name))
}

// mistake is an error about a line of a file as a whole.
func mistake(f file, line int, message string) *syntax.Error {
	lines := strings.Split(string(f.data), "\n")
	source := strings.TrimSuffix(lines[min(line, len(lines))-1], "\r")
	return &syntax.Error{File: f.name, Line: line, Column: 1, Message: message, SourceLine: source}
}

// report adds the mistakes in err, which may be nil.
func (l *loaded) report(f file, err error) {
	var found syntax.Errors
	switch {
	case err == nil:
	case errors.As(err, &found):
		l.findings = append(l.findings, found...)
	default:
		l.findings = append(l.findings, mistake(f, 1, err.Error()))
	}
}

// loadValid is load for commands that can do nothing with a policy that has
// mistakes: these are printed to errOut, and end the command.
func loadValid(names []string, stdin io.Reader, errOut io.Writer) ([]*policy.Program, error) {
	l, err := load(names, stdin)
	if err != nil {
		return nil, err
	}
	return l.valid(errOut)
}

// valid returns the policies, or prints the mistakes and returns an error.
func (l loaded) valid(errOut io.Writer) ([]*policy.Program, error) {
	if len(l.findings) == 0 {
		return l.programs, nil
	}
	printFindings(errOut, l.findings)
	return nil, l.mistakes()
}

// runnable is valid for commands that can go on with policies that have mistakes:
// these are printed to errOut. The broken policies that can clean up come last; one
// that could not run beside the others is left out, and errOut told of it.
func (l loaded) runnable(errOut io.Writer) ([]*policy.Program, error) {
	printFindings(errOut, l.findings)
	programs := l.programs
	for _, broken := range l.broken {
		with := append(slices.Clone(programs), broken)
		if err := policy.CheckConflicts(with); policy.CheckConflicts(programs) == nil && err != nil {
			fmt.Fprintf(errOut, "policy %q has mistakes, and nothing is cleaned up for it: %v\n", broken.Name, err)
			continue
		}
		fmt.Fprintf(errOut, "policy %q has mistakes: it only cleans up after owners that are deleted\n", broken.Name)
		programs = with
	}
	if len(programs) == 0 {
		return nil, l.mistakes()
	}
	return programs, nil
}

// mistakes is the error of a command that can do nothing with what was found.
func (l loaded) mistakes() error {
	return &exitError{code: exitFindings, err: errors.New(plural(len(l.findings), "mistake") + " in the policies")}
}

// printFindings writes each mistake with its line and a caret.
func printFindings(w io.Writer, findings syntax.Errors) {
	for _, finding := range findings {
		fmt.Fprintln(w, finding.Error())
	}
}

// joined is a list of names in words.
func joined(names []string) string { return strings.Join(names, ", ") }

// plural returns `1 mistake`, `2 mistakes`.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		noun = stem + "ie"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
