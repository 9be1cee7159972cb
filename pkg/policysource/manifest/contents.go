package manifest

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// maxDocuments is how many policies one manifest may have: a decision compares each with all.
const maxDocuments = 500

// maxKinds is for how many kinds that a policy names schemas are asked for. One that names more has
// more children and watches than a policy may have.
const maxKinds = 100

// Document is one policy of a manifest.
type Document struct {
	Parsed *syntax.Document
	// Namespace and Name are the policy's. Name is empty if it is not legible.
	Namespace, Name string
	Index           int // of the document in the manifest
	Compiled        Compiled
}

// Contents is a manifest as it was compiled. It is immutable.
type Contents struct {
	Documents []Document
	// Unreadable is why the manifest cannot be read as a whole; nil if it can. Documents has what is
	// legible all the same.
	Unreadable error
}

// CompileManifest parses a manifest and compiles what is legible of it. own is Ambit's own namespace. schemas
// is called once with the kinds that the manifest names; nil: nothing is known of any kind. functions may be nil.
func CompileManifest(t Manifest, own string, functions *policy.Functions, schemas func([]schema.GroupVersionKind) policy.Schemas) *Contents {
	r := &Contents{}
	r.Documents, r.Unreadable = parseDocuments(t, own)
	known := policy.Options{Functions: functions}
	if kinds := referencedKinds(r.Documents); schemas != nil && len(kinds) > 0 {
		known.Schemas = schemas(kinds)
	}
	for i := range r.Documents {
		d := &r.Documents[i]
		d.Compiled = compileDocument(d.Parsed, t.Origin, own, known)
	}
	return r
}

// ReuseCompiled returns the contents of a file whose policies were compiled already to these programs, in their
// order; nil if it has other ones, or if there are none.
func ReuseCompiled(t Manifest, own string, programs []*policy.Program) *Contents {
	if len(programs) == 0 {
		return nil // without parsing a text that is compiled next
	}
	documents, err := parseDocuments(t, own)
	if err != nil || len(documents) != len(programs) {
		return nil
	}
	for i, program := range programs {
		if documents[i].Namespace != program.Namespace || documents[i].Name != program.Name {
			return nil
		}
		documents[i].Compiled.Program = program
	}
	return &Contents{Documents: documents}
}

// referencedKinds returns the kinds that documents name, at most maxKinds of each.
func referencedKinds(documents []Document) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, d := range documents {
		named := d.Parsed.Kinds()
		kinds = append(kinds, named[:min(len(named), maxKinds)]...)
	}
	return kinds
}

// parseDocuments returns the documents of a manifest, and why it is not legible as a whole. own is the
// namespace of those of a file that say none.
func parseDocuments(t Manifest, own string) ([]Document, error) {
	if t.Unreadable != nil {
		return nil, t.Unreadable
	}
	if t.Origin.Kind == CustomResource {
		document, err := syntax.FromObject(t.Origin.String(), t.Object)
		if err != nil {
			return nil, err
		}
		return []Document{{Parsed: document, Namespace: t.Origin.Namespace, Name: t.Origin.Name}}, nil
	}
	documents, err := syntax.Parse(t.Origin.String(), t.Data)
	if len(documents) > maxDocuments {
		return nil, fmt.Errorf("%s: it has more than %d policies", t.Origin, maxDocuments)
	}
	if t.Origin.Kind == ConfigMap {
		own = t.Origin.Namespace
	}
	var list []Document
	for i, d := range documents {
		d = d.InNamespace(own)
		document := Document{Parsed: d, Namespace: d.Namespace(), Name: d.Name(), Index: i}
		if t.Origin.Kind == ConfigMap {
			document.Namespace = own // what says another one is a mistake
		}
		list = append(list, document)
	}
	if len(list) == 0 && err == nil && t.Origin.Kind == File {
		return nil, fmt.Errorf("%s: %w", t.Origin, ErrNoPolicy)
	}
	return list, err
}

// ErrNoPolicy is the error of a file without a policy. It may have been emptied.
var ErrNoPolicy = errors.New("there is no policy in it")

// Compiled is a document as it was compiled: a Program, or a Mistake and a program that only cleans up,
// which is nil if not even that can be compiled.
type Compiled struct {
	Program, CleanupOnly *policy.Program
	Mistake              error
}

// compileDocument compiles a document as one of its origin.
func compileDocument(d *syntax.Document, from Origin, own string, options policy.Options) Compiled {
	program, err := policy.CompileWith(d, options)
	if err == nil {
		if program, err = withIdentity(program, from, own); err != nil {
			return Compiled{Mistake: fmt.Errorf("%s: %w", from, err)}
		}
		return Compiled{Program: program}
	}
	c := Compiled{Mistake: err}
	if salvaged, err := policy.SalvageFrom(d, err); err == nil {
		if salvaged, err = withIdentity(salvaged, from, own); err == nil {
			c.CleanupOnly = salvaged
		}
	}
	return c
}

// maxMistakes is how many mistakes a message names.
const maxMistakes = 8

// MaxMessage bounds the message of a condition, in bytes.
const MaxMessage = 4096

// BriefMessage returns the message of an error without lines of the policy that it is about: what a
// policy holds is nobody's business but its author's.
func BriefMessage(err error) string {
	var found syntax.Errors
	if !errors.As(err, &found) {
		return TruncateText(err.Error(), MaxMessage)
	}
	var lines []string
	for i, e := range found {
		if i == maxMistakes {
			lines = append(lines, fmt.Sprintf("and %d more", len(found)-maxMistakes))
			break
		}
		lines = append(lines, e.Brief())
	}
	return TruncateText(strings.Join(lines, "\n"), MaxMessage)
}

// TruncateText cuts a text to so many bytes, at a rune.
func TruncateText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most-len("...")], "") + "..."
}

// withIdentity returns the program as the one that it may be by its origin: a policy from a
// file acts as Ambit unless it names a ServiceAccount, the others as policies in the
// cluster do (see policy.Program.InCluster). The error is that of a text that says
// another namespace than the one that it stands in.
func withIdentity(p *policy.Program, from Origin, own string) (*policy.Program, error) {
	if from.Kind == File {
		return p, nil
	}
	if p.Namespace != from.Namespace {
		return nil, fmt.Errorf("metadata.namespace is %q, but this is in namespace %q", p.Namespace, from.Namespace)
	}
	return p.InCluster(own), nil
}
