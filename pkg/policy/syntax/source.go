package syntax

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

const byteOrderMark = "\ufeff"

// source is the text of a file with tables of its lines. Places are byte offsets
// into the text. It is immutable.
//
// There are two kinds of lines: YAML also ends one at a lone carriage return and
// at U+0085, U+2028 and U+2029; editors, and so the users, do not.
type source struct {
	file string
	text string
	yaml []int // offsets of the beginnings of lines as YAML counts them
	user []int // the same as editors count them
	// root is the whole of an object, whose places are paths; nil for text.
	root *yaml.Node
}

func newSource(file, text string) *source {
	s := &source{file: file, text: text, yaml: []int{0}, user: []int{0}}
	if strings.HasPrefix(text, byteOrderMark) {
		s.yaml[0] = len(byteOrderMark) // the YAML reader takes it away before it counts
	}
	for i := 0; i < len(text); {
		n := breakLen(text[i:])
		if n == 0 {
			i++
			continue
		}
		if text[i+n-1] == '\n' {
			s.user = append(s.user, i+n)
		}
		i += n
		s.yaml = append(s.yaml, i)
	}
	return s
}

// breakLen returns the length of the YAML line break that s begins with, 0 if
// there is none.
func breakLen(s string) int {
	switch {
	case strings.HasPrefix(s, "\r\n"), strings.HasPrefix(s, "\u0085"):
		return 2
	case strings.HasPrefix(s, "\n"), strings.HasPrefix(s, "\r"):
		return 1
	case strings.HasPrefix(s, "\u2028"), strings.HasPrefix(s, "\u2029"):
		return 3
	default:
		return 0
	}
}

// nodeOffset returns where n begins: at its tag or anchor if it has one. Places that
// YAML reports beyond the text are brought back into it.
func (s *source) nodeOffset(n *yaml.Node) int {
	return s.offsetOf(n.Line, n.Column)
}

func (s *source) offsetOf(line, column int) int {
	if line > len(s.yaml) {
		return len(s.text)
	}
	at := s.yaml[max(line, 1)-1]
	for ; column > 1 && at < len(s.text); column-- {
		_, n := utf8.DecodeRuneInString(s.text[at:])
		at += n
	}
	return at
}

// errorAt makes an Error at a byte offset.
func (s *source) errorAt(offset int, message string) *Error {
	offset = min(max(offset, 0), len(s.text))
	line := sort.Search(len(s.user), func(i int) bool { return s.user[i] > offset })
	begin := s.user[line-1]
	if s.root != nil {
		return &Error{File: s.file, Line: line, Column: 1, Path: s.pathAt(offset), Message: message}
	}
	return &Error{
		File:       s.file,
		Line:       line,
		Column:     utf8.RuneCountInString(strings.TrimPrefix(s.text[begin:offset], byteOrderMark)) + 1,
		Message:    message,
		SourceLine: s.lineText(line),
	}
}

// lineText returns the nth line, from 1, without its end.
func (s *source) lineText(n int) string {
	end := len(s.text)
	if n < len(s.user) {
		end = s.user[n]
	}
	text := strings.TrimPrefix(s.text[s.user[n-1]:end], byteOrderMark)
	return strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
}

// pathAt returns the path of the innermost field or element that begins at an offset
// or before it and is not followed by another that does.
func (s *source) pathAt(offset int) string {
	var path strings.Builder
	n := s.root
	for n != nil {
		n = s.stepTo(n, offset, &path)
	}
	return path.String()
}

// stepTo goes into the part of n that an offset is in; nil if it is in none.
func (s *source) stepTo(n *yaml.Node, offset int, path *strings.Builder) *yaml.Node {
	step := 1
	if n.Kind == yaml.MappingNode {
		step = 2
	}
	at := -1
	for i := 0; i+step <= len(n.Content) && s.nodeOffset(n.Content[i]) <= offset; i += step {
		at = i
	}
	if at < 0 {
		return nil
	}
	if step == 1 {
		fmt.Fprintf(path, "[%d]", at)
		return n.Content[at]
	}
	if path.Len() > 0 {
		path.WriteByte('.')
	}
	path.WriteString(n.Content[at].Value)
	return n.Content[at+1]
}
