package policy

import (
	"cmp"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// findings collects the mistakes of one document.
type findings struct {
	src  *source
	list Errors
}

// at adds a mistake at the content of n.
func (f *findings) at(n *yaml.Node, format string, args ...any) {
	f.add(f.src.offset(n), format, args...)
}

// in adds a mistake at byte offset of the decoded value of n, a scalar.
func (f *findings) in(n *yaml.Node, offset int, format string, args ...any) {
	f.add(f.src.scalar(n).at(offset), format, args...)
}

func (f *findings) add(offset int, format string, args ...any) {
	f.list = append(f.list, f.src.errorAt(offset, fmt.Sprintf(format, args...)))
}

// err returns all mistakes, by place, each once; nil if there are none.
func (f *findings) err() error {
	if len(f.list) == 0 {
		return nil
	}
	slices.SortStableFunc(f.list, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(f.list, func(a, b *Error) bool { return *a == *b })
}
