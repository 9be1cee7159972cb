package manifests

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// Policies are what a set of files holds.
type Policies struct {
	// Programs are the policies without mistakes, in the order of the files.
	Programs []*policy.Program
	// CleanupOnly are what can be salvaged of the others: they only clean up.
	CleanupOnly []*policy.Program
	// Findings are all mistakes, in the order of the files, by position.
	Findings syntax.Errors
	// Unplaced are the labels of those whose files say no namespace.
	Unplaced map[string]bool
	// Kinds are those of the CustomResourceDefinitions that were named beside.
	Kinds Kinds

	places   map[string]string   // where a policy stands, by its label
	compiled map[string]textFile // by the name of the file
}

// textFile is a file all of whose policies were compiled.
type textFile struct {
	digest   [sha256.Size]byte
	programs []*policy.Program
}

// ProgramsOf returns the programs of a file, in the order of its policies, if they were compiled from this very
// text and none of them has mistakes; else nil. It is safe for concurrent use.
func (p Policies) ProgramsOf(name string, text []byte) []*policy.Program {
	of, ok := p.compiled[name]
	if !ok || of.digest != sha256.Sum256(text) {
		return nil
	}
	return of.programs
}

// LoadPolicies parses and compiles every policy in the files and folders names. One without a namespace is
// in own, Ambit's own. Fields of the kinds that CustomResourceDefinitions in crds define are checked;
// crds may be empty, and functions nil. That there is no policy at all is an error.
func LoadPolicies(names, crds []string, own string, functions *policy.Functions, stdin io.Reader) (Policies, error) {
	sources, err := readPolicies(names, own, reading{stdin: stdin, most: syntax.MaxText})
	if err != nil {
		return Policies{}, err
	}
	kinds, known, err := readKindsAndSchemas(crds, stdin)
	if err != nil {
		return Policies{}, err
	}
	compiled := CompilePolicies(sources, policy.Options{Schemas: known, Functions: functions})
	compiled.Kinds = kinds
	return compiled, nil
}

// Source is one file, parsed.
type Source struct {
	file      file
	documents []*syntax.Document
	own       string // the namespace of those that say none
	err       error  // the mistakes of what is no document; nil for none
}

// ReadPolicies parses files that will be read again: a pipe that is named is an error, unlike for LoadPolicies. A policy
// without a namespace is in own. That they hold no policy at all is an error.
func ReadPolicies(names []string, own string, stdin io.Reader) ([]Source, error) {
	return readPolicies(names, own, reading{stdin: stdin, most: syntax.MaxText, repeatable: true})
}

func readPolicies(names []string, own string, how reading) ([]Source, error) {
	if len(names) == 0 {
		return nil, errors.New("no policy was given: use -f FILE or -f FOLDER")
	}
	files, err := readFiles(names, how)
	if err != nil {
		return nil, err
	}
	var sources []Source
	for _, f := range files {
		documents, err := syntax.Parse(f.name, f.data)
		sources = append(sources, Source{file: f, documents: documents, own: own, err: err})
	}
	if !slices.ContainsFunc(sources, func(s Source) bool { return s.err != nil || len(s.documents) > 0 }) {
		return nil, fmt.Errorf("no ReconcilePolicy in %s", strings.Join(names, ", "))
	}
	return sources, nil
}

// KindsIn returns the kinds that the policies in the sources name, in the order of the files, some more than
// once. What is not compiled yet tells them, also with mistakes in it.
func KindsIn(sources []Source) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, from := range sources {
		for _, document := range from.documents {
			kinds = append(kinds, document.Kinds()...)
		}
	}
	return kinds
}

// CompilePolicies compiles every policy in the sources.
func CompilePolicies(sources []Source, options policy.Options) Policies {
	p := Policies{places: map[string]string{}, Unplaced: map[string]bool{}, compiled: map[string]textFile{}}
	for _, from := range sources {
		before, found := len(p.Programs), len(p.Findings)
		p.addFindings(from.file, from.err)
		for _, document := range from.documents {
			if program := p.addDocument(from.file, document.InNamespace(from.own), options); program != nil && document.Namespace() == "" {
				p.Unplaced[program.Label] = true
			}
		}
		if len(p.Findings) == found {
			p.compiled[from.file.name] = textFile{digest: sha256.Sum256(from.file.data), programs: slices.Clone(p.Programs[before:])}
		}
	}
	return p
}

// addDocument compiles one policy of a file; of one with mistakes it keeps what can clean up,
// if it can be told whose owners they are. No two are of one name and namespace: children are found
// and fields are managed by these. It returns what was kept, or nil.
func (p *Policies) addDocument(f file, document *syntax.Document, options policy.Options) *policy.Program {
	list := &p.Programs
	program, err := policy.CompileWith(document, options)
	if err != nil {
		p.addFindings(f, err)
		if program, err = policy.SalvageFrom(document, err); err != nil {
			return nil // the mistakes are reported already
		}
		list = &p.CleanupOnly
	}
	first, isTaken := p.places[program.Label]
	if isTaken && list == &p.Programs {
		p.Findings = append(p.Findings, duplicateName(f, program, first))
	}
	if isTaken {
		return nil
	}
	p.places[program.Label] = program.Place("")
	*list = append(*list, program)
	return program
}

// duplicateName is the mistake of a policy whose namespace and name another one has, which stands at first.
func duplicateName(f file, program *policy.Program, first string) *syntax.Error {
	place := program.Place("")
	line, err := strconv.Atoi(place[strings.LastIndex(place, ":")+1:])
	if err != nil {
		line = 1
	}
	return lineError(f, line, fmt.Sprintf("another policy at %s has the name %q in namespace %q as well", first, program.Name, program.Namespace))
}

// addFindings adds the mistakes in err, which may be nil.
func (p *Policies) addFindings(f file, err error) {
	var found syntax.Errors
	switch {
	case err == nil:
	case errors.As(err, &found):
		p.Findings = append(p.Findings, found...)
	default:
		p.Findings = append(p.Findings, lineError(f, 1, err.Error()))
	}
}

// lineError is an error about a line of a file as a whole.
func lineError(f file, line int, message string) *syntax.Error {
	lines := strings.Split(string(f.data), "\n")
	source := strings.TrimSuffix(lines[min(line, len(lines))-1], "\r")
	return &syntax.Error{File: f.name, Line: line, Column: 1, Message: message, SourceLine: source}
}
