package policy

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

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
// up however wide a tab is. Where there is no line it is Brief.
func (e *Error) Error() string {
	if e.SourceLine == "" && e.Path != "" {
		return e.Brief()
	}
	return fmt.Sprintf("%s:%d:%d: %s\n  %s\n  %s^", e.File, e.Line, e.Column, e.Message, e.SourceLine, e.indent())
}

// indent is as wide as what is before the column.
func (e *Error) indent() string {
	var b strings.Builder
	n := 1
	for _, r := range e.SourceLine {
		if n >= e.Column {
			return b.String()
		}
		if r != '\t' {
			r = ' '
		}
		b.WriteRune(r)
		n++
	}
	return b.String() + strings.Repeat(" ", max(e.Column-1-utf8.RuneCountInString(e.SourceLine), 0))
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
