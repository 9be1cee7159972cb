package policysource

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// mostDocuments is how many policies one text may have: a decision compares each with all.
const mostDocuments = 500

// parsed is one document of a text.
type parsed struct {
	document *syntax.Document
	name     string
	index    int
	compiled compiled // set by read only
}

// reading is what a text says. It is immutable.
type reading struct {
	documents []parsed
	illegible error // why it cannot be read as a whole; nil if it can
}

// read parses a text and compiles what is legible of it, with what schemas returns for the
// kinds that it names; nil: nothing is known of them.
func read(t text, own string, schemas func([]schema.GroupVersionKind) policy.Schemas) *reading {
	r := &reading{}
	r.documents, r.illegible = parse(t)
	var known policy.Schemas
	if kinds := kindsOf(r.documents); schemas != nil && len(kinds) > 0 {
		known = schemas(kinds)
	}
	for i := range r.documents {
		d := &r.documents[i]
		d.compiled = compileDocument(d.document, t.origin, own, typed(known))
	}
	return r
}

// kindsOf are the kinds that documents name, at most mostKinds of each.
func kindsOf(documents []parsed) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, d := range documents {
		named := d.document.Kinds()
		kinds = append(kinds, named[:min(len(named), mostKinds)]...)
	}
	return kinds
}

// parse returns the documents of a text, and why it is not legible as a whole.
func parse(t text) ([]parsed, error) {
	if t.unread != nil {
		return nil, t.unread
	}
	if t.origin.Kind == CustomResource {
		document, err := syntax.FromObject(t.origin.String(), t.object)
		if err != nil {
			return nil, err
		}
		return []parsed{{document: document, name: t.origin.Name}}, nil
	}
	documents, err := syntax.Parse(t.origin.String(), t.data)
	if len(documents) > mostDocuments {
		return nil, fmt.Errorf("%s: it has more than %d policies", t.origin, mostDocuments)
	}
	var list []parsed
	for i, d := range documents {
		if t.origin.Kind == ConfigMap {
			d = d.In(t.origin.Namespace)
		}
		list = append(list, parsed{document: d, name: d.Name(), index: i})
	}
	if len(list) == 0 && err == nil && t.origin.Kind == File {
		return nil, fmt.Errorf("%s: %w", t.origin, errNoPolicy)
	}
	return list, err
}

// errNoPolicy is what is wrong with a file without a policy: it may have been emptied.
var errNoPolicy = errors.New("there is no policy in it")

// compiled is what became of a document: a program, or a mistake and what can clean
// up, which is nil if nothing can.
type compiled struct {
	program, salvaged *policy.Program
	mistake           error
}

// compileFunc is policy.CompileWith, with the schemas that there are.
type compileFunc func(*syntax.Document) (*policy.Program, error)

// compileDocument compiles a document as one of its origin.
func compileDocument(d *syntax.Document, from Origin, own string, compile compileFunc) compiled {
	program, err := compile(d)
	if err == nil {
		if program, err = actAs(program, from, own); err != nil {
			return compiled{mistake: fmt.Errorf("%s: %w", from, err)}
		}
		return compiled{program: program}
	}
	c := compiled{mistake: err}
	if salvaged, err := policy.SalvageFrom(d, err); err == nil {
		if salvaged, err = actAs(salvaged, from, own); err == nil {
			c.salvaged = salvaged
		}
	}
	return c
}

// typed compiles with schemas.
func typed(s policy.Schemas) compileFunc {
	return func(d *syntax.Document) (*policy.Program, error) { return policy.CompileWith(d, s) }
}

// mostMistakes and mostMessage bound a message.
const (
	mostMistakes = 8
	mostMessage  = 4096
)

// brief is an error without lines of the text that it is about: what a policy holds
// is nobody's business but its author's.
func brief(err error) string {
	var found syntax.Errors
	if !errors.As(err, &found) {
		return shortened(err.Error(), mostMessage)
	}
	var lines []string
	for i, e := range found {
		if i == mostMistakes {
			lines = append(lines, fmt.Sprintf("and %d more", len(found)-mostMistakes))
			break
		}
		lines = append(lines, e.Brief())
	}
	return shortened(strings.Join(lines, "\n"), mostMessage)
}

// shortened cuts a text to so many bytes, at a rune.
func shortened(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most-len("...")], "") + "..."
}
