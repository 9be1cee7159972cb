package cli

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/ambit-dev/ambit/pkg/policy"
)

// loaded is what a set of files holds.
type loaded struct {
	// programs are the policies without mistakes, in the order of the files.
	programs []*policy.Program
	// findings are all mistakes, in the order of the files, by position.
	findings policy.Errors
}

// load parses and compiles every policy in the files. That files hold no policy
// at all is a usage error; mistakes in them are findings.
func load(names []string, stdin io.Reader) (loaded, error) {
	if len(names) == 0 {
		return loaded{}, usageErrorf("no policy was given: use -f FILE or -f FOLDER")
	}
	files, err := readFiles(names, stdin)
	if err != nil {
		return loaded{}, err
	}
	l := loaded{}
	places := map[string]string{}
	for _, f := range files {
		l.add(f, places)
	}
	if len(l.programs) == 0 && len(l.findings) == 0 {
		return loaded{}, usageErrorf("no ReconcilePolicy in %s", strings.Join(names, ", "))
	}
	return l, nil
}

// add compiles the policies of one file. places says by name where a policy
// stands. Names must differ, whatever the namespace: children are found and
// fields are managed by the name.
func (l *loaded) add(f file, places map[string]string) {
	documents, err := policy.Parse(f.name, f.data)
	l.report(f, err)
	for _, document := range documents {
		program, err := policy.Compile(document)
		if err != nil {
			l.report(f, err)
			continue
		}
		if first, taken := places[program.Name]; taken {
			l.findings = append(l.findings, duplicate(f, program, first))
			continue
		}
		places[program.Name] = program.Place("")
		l.programs = append(l.programs, program)
	}
}

// duplicate is the mistake of a policy whose name another one has, which stands
// at first.
func duplicate(f file, program *policy.Program, first string) *policy.Error {
	place := program.Place("")
	line, err := strconv.Atoi(place[strings.LastIndex(place, ":")+1:])
	if err != nil {
		line = 1
	}
	return mistake(f, line, fmt.Sprintf("another policy at %s has the name %q", first, program.Name))
}

// mistake is an error about a line of a file as a whole.
func mistake(f file, line int, message string) *policy.Error {
	lines := strings.Split(string(f.data), "\n")
	source := strings.TrimSuffix(lines[min(line, len(lines))-1], "\r")
	return &policy.Error{File: f.name, Line: line, Column: 1, Message: message, SourceLine: source}
}

// report adds the mistakes in err, which may be nil.
func (l *loaded) report(f file, err error) {
	var found policy.Errors
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
	if len(l.findings) == 0 {
		return l.programs, nil
	}
	printFindings(errOut, l.findings)
	return nil, &exitError{code: exitFindings, err: errors.New(plural(len(l.findings), "mistake") + " in the policies")}
}

// printFindings writes each mistake with its line and a caret.
func printFindings(w io.Writer, findings policy.Errors) {
	for _, finding := range findings {
		fmt.Fprintln(w, finding.Error())
	}
}

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
