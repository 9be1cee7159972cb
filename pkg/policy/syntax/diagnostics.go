package syntax

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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
	f.addAt(f.src.offset(n), format, args...)
}

// In adds a mistake at a byte offset of the decoded value of n, a scalar of the text.
func (f *Diagnostics) In(n *yaml.Node, offset int, format string, args ...any) {
	f.addAt(f.src.scalar(n).at(offset), format, args...)
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
func (f *Diagnostics) LineOf(n *yaml.Node) int { return f.src.errorAt(f.src.offset(n), "").Line }

// PlaceOf returns where n begins: `file:line`, or `file path` of a policy that was no text.
func (f *Diagnostics) PlaceOf(n *yaml.Node) string {
	e := f.src.errorAt(f.src.offset(n), "")
	if f.src.root != nil {
		return strings.TrimSuffix(e.File+" "+e.Path, " ")
	}
	return fmt.Sprintf("%s:%d", e.File, e.Line)
}
