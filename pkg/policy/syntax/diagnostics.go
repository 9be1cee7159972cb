package syntax

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Diagnostics collects the mistakes of one text. It is not safe for concurrent use.
type Diagnostics struct {
	src  *source
	list Errors
}

// NewDiagnostics returns a collection without mistakes for the text of d.
func NewDiagnostics(d *Document) *Diagnostics { return &Diagnostics{src: d.src} }

// At adds a mistake at the content of n, a node of the text.
func (f *Diagnostics) At(n *yaml.Node, format string, args ...any) {
	f.addAt(f.src.nodeOffset(n), format, args...)
}

// In adds a mistake at a byte offset of the decoded value of n, a scalar of the text.
func (f *Diagnostics) In(n *yaml.Node, offset int, format string, args ...any) {
	f.addAt(f.src.mapScalar(n).placeAt(offset), format, args...)
}

func (f *Diagnostics) addAt(offset int, format string, args ...any) {
	f.list = append(f.list, f.src.errorAt(offset, fmt.Sprintf(format, args...)))
}

// Count returns how many mistakes were added.
func (f *Diagnostics) Count() int { return len(f.list) }

// Err returns Errors: all mistakes, by place, each once; nil if there are none.
func (f *Diagnostics) Err() error {
	if len(f.list) == 0 {
		return nil
	}
	slices.SortStableFunc(f.list, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(f.list, func(a, b *Error) bool { return *a == *b })
}

// LineOf returns the line that n begins in, from 1.
func (f *Diagnostics) LineOf(n *yaml.Node) int { return f.src.errorAt(f.src.nodeOffset(n), "").Line }

// PlaceOf returns where n begins: `file:line`, or `file path` of a policy that was no text.
func (f *Diagnostics) PlaceOf(n *yaml.Node) string {
	e := f.src.errorAt(f.src.nodeOffset(n), "")
	if f.src.root != nil {
		return strings.TrimSuffix(e.File+" "+e.Path, " ")
	}
	return fmt.Sprintf("%s:%d", e.File, e.Line)
}

// Error is one mistake in a policy, at a place in its file.
type Error struct {
	// File is the name given to Parse.
	File string
	// Line and Column count from 1; Column counts runes. Both are within the file,
	// or just behind its last character.
	Line, Column int
	// Message says what is wrong, without the place.
	Message string
	// SourceLine is the whole line, without its end.
	SourceLine string
	// Path is the field, as in `spec.owner.filter`, of a policy that was no text; else
	// empty. Line and Column are without meaning then, and SourceLine is empty.
	Path string
}

// Brief is Error without the line of the source: `file:line:column: message`, or
// `file: path: message`.
func (e *Error) Brief() string {
	switch {
	case e.Path != "" && strings.HasPrefix(e.Message, e.Path): // it names the field itself
		return e.File + ": " + e.Message
	case e.Path != "":
		return fmt.Sprintf("%s: %s: %s", e.File, e.Path, e.Message)
	case e.Line == 0:
		return e.File + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// Error returns `file:line:column: message`, the line of the source, and a caret
// below the place. Tabs in the line are kept before the caret, so that both line
// up however wide a tab is. Of a very wide line only what is around the place is shown.
// Where there is no line it is Brief.
func (e *Error) Error() string {
	if e.SourceLine == "" && e.Path != "" {
		return e.Brief()
	}
	line, column := excerptOf(e.SourceLine, e.Column)
	return fmt.Sprintf("%s:%d:%d: %s\n  %s\n  %s^", e.File, e.Line, e.Column, e.Message, line, indentTo(line, column))
}

// The widest line that is shown whole, and how many of its characters are shown before
// and behind the column of one that is wider.
const (
	mostShown = 400
	around    = 80
)

// excerptOf returns what is shown of a line, and the column in that. The rest of a line that
// is too wide is `...`.
func excerptOf(line string, column int) (shown string, at int) {
	runes := []rune(line)
	if len(runes) <= mostShown {
		return line, column
	}
	from, to := max(column-1-around, 0), min(column-1+around, len(runes))
	shown, at = string(runes[from:max(from, to)]), column-from
	if from > 0 {
		shown, at = "..."+shown, at+len("...")
	}
	if to < len(runes) {
		shown += "..."
	}
	return shown, at
}

// indentTo is as wide as what is before a column of a line.
func indentTo(line string, column int) string {
	var b strings.Builder
	n := 1
	for _, r := range line {
		if n >= column {
			return b.String()
		}
		if r != '\t' {
			r = ' '
		}
		b.WriteRune(r)
		n++
	}
	return b.String() + strings.Repeat(" ", max(column-1-utf8.RuneCountInString(line), 0))
}

// Errors are all mistakes found, sorted by place; never empty as an error.
type Errors []*Error

// Error joins all mistakes, one after the other, each on its own lines.
func (e Errors) Error() string {
	texts := make([]string, len(e))
	for i, x := range e {
		texts[i] = x.Error()
	}
	return strings.Join(texts, "\n")
}

// Unwrap gives errors.As and errors.Is access to each mistake.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, x := range e {
		out[i] = x
	}
	return out
}
