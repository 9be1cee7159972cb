package source

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ambit-dev/ambit/pkg/policy"
)

// mostDocuments is how many policies one text may have: a decision compares each with all.
const mostDocuments = 500

// parsed is one document of a text.
type parsed struct {
	document *policy.Document
	name     string
	index    int
}

// parse returns the documents of a text, and why it is not legible as a whole.
func parse(t text) ([]parsed, error) {
	if t.unread != nil {
		return nil, t.unread
	}
	if t.origin.Kind == CustomResource {
		document, err := policy.FromObject(t.origin.String(), t.object)
		if err != nil {
			return nil, err
		}
		return []parsed{{document: document, name: t.origin.Name}}, nil
	}
	documents, err := policy.Parse(t.origin.String(), t.data)
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
type compileFunc func(*policy.Document) (*policy.Program, error)

// compileDocument compiles a document as one of its origin.
func compileDocument(d *policy.Document, from Origin, own string, compile compileFunc) compiled {
	program, err := compile(d)
	if err == nil {
		if program, err = actAs(program, from, own); err != nil {
			return compiled{mistake: fmt.Errorf("%s: %w", from, err)}
		}
		return compiled{program: program}
	}
	c := compiled{mistake: err}
	if salvaged, err := policy.Salvage(d); err == nil {
		if salvaged, err = actAs(salvaged, from, own); err == nil {
			c.salvaged = salvaged
		}
	}
	return c
}

// typed compiles with schemas.
func typed(s policy.Schemas) compileFunc {
	return func(d *policy.Document) (*policy.Program, error) { return policy.CompileWith(d, s) }
}

// mostMistakes and mostMessage bound a message.
const (
	mostMistakes = 8
	mostMessage  = 4096
)

// brief is an error without lines of the text that it is about: what a policy holds
// is nobody's business but its author's.
func brief(err error) string {
	var found policy.Errors
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
