package syntax

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// scalarMap says where in the source each byte of a decoded scalar comes from.
// It has one entry more than the value has bytes, for its end. All bytes of an
// escape sequence come from its beginning; a folded line break is where the
// (first) break stands.
type scalarMap []int

// placeAt returns the place of byte i of the value, or of its end beyond.
func (m scalarMap) placeAt(i int) int { return m[min(max(i, 0), len(m)-1)] }

// mapScalar maps n, which must be a scalar node of s. It decodes the source a
// second time, with places; should the result not be the value of the node, as
// for nodes that are not in the source as they are, every byte is mapped to where
// the node begins.
func (s *source) mapScalar(n *yaml.Node) scalarMap {
	start := s.skipProperties(s.nodeOffset(n))
	if m, ok := s.decodeScalar(n, start); ok {
		return m
	}
	m := make(scalarMap, len(n.Value)+1)
	for i := range m {
		m[i] = start
	}
	return m
}

func (s *source) decodeScalar(n *yaml.Node, start int) (scalarMap, bool) {
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		return decodeFlow(s.text, start+1, n.Value, escapeDouble)
	case n.Style&yaml.SingleQuotedStyle != 0:
		return decodeFlow(s.text, start+1, n.Value, escapeSingle)
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return decodeBlock(s.text, start, n.Value, n.Style&yaml.FoldedStyle != 0)
	default:
		return decodeFlow(s.text, start, n.Value, escapeNone)
	}
}

// skipProperties goes from the tag or anchor of a node to its content.
func (s *source) skipProperties(at int) int {
	for at < len(s.text) && (s.text[at] == '!' || s.text[at] == '&') {
		anchor := s.text[at] == '&'
		for at++; at < len(s.text) && isProperty(s.text[at], anchor); {
			at++
		}
		at = skipGaps(s.text, at)
	}
	return at
}

// isProperty says whether c continues a tag or an anchor. The YAML reader knows
// only words as anchors.
func isProperty(c byte, anchor bool) bool {
	word := c == '-' || c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
	return word || !anchor && c > ' '
}

// skipGaps skips blanks, line breaks and comments.
func skipGaps(text string, at int) int {
	for at < len(text) {
		n := breakLen(text[at:])
		switch {
		case n > 0:
			at += n
		case isBlank(text[at]):
			at++
		case text[at] == '#':
			at = lineEnd(text, at)
		default:
			return at
		}
	}
	return at
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// lineEnd returns where the line of at ends, before its break.
func lineEnd(text string, at int) int {
	for at < len(text) && breakLen(text[at:]) == 0 {
		at++
	}
	return at
}

// scalarDecoder collects a decoded value together with the place of each byte.
type scalarDecoder struct {
	text  string
	at    int // next place in text
	want  string
	out   strings.Builder
	where scalarMap
}

func (d *scalarDecoder) isDone() bool { return d.out.Len() >= len(d.want) || d.at >= len(d.text) }

// emitText adds text that comes from a place.
func (d *scalarDecoder) emitText(text string, from int) {
	d.out.WriteString(text)
	for range len(text) {
		d.where = append(d.where, from)
	}
}

// copySource adds n bytes of the source as they are.
func (d *scalarDecoder) copySource(n int) {
	for i := range n {
		d.where = append(d.where, d.at+i)
	}
	d.out.WriteString(d.text[d.at : d.at+n])
	d.at += n
}

// closeMap closes the map with the place of the value's end.
func (d *scalarDecoder) closeMap() (scalarMap, bool) {
	return append(d.where, d.at), d.out.String() == d.want
}

// escape decodes the escape sequence at the beginning of text: its length in
// the source, and its value. Length 0: there is none. folds: it is an escaped
// line break.
type escape func(text string) (length int, value string, folds bool)

// decodeFlow decodes a plain or quoted scalar from place at on, as far as want
// is long.
func decodeFlow(text string, at int, want string, esc escape) (scalarMap, bool) {
	d := &scalarDecoder{text: text, at: at, want: want}
	for !d.isDone() {
		if isBlank(text[d.at]) || breakLen(text[d.at:]) > 0 {
			d.decodeGap(false)
			continue
		}
		n, value, folds := esc(text[d.at:])
		switch {
		case folds:
			d.at += n
			d.decodeGap(true)
		case n > 0:
			d.emitText(value, d.at)
			d.at += n
		default:
			_, size := utf8.DecodeRuneInString(text[d.at:])
			d.copySource(size)
		}
	}
	return d.closeMap()
}

// decodeGap decodes blanks and line breaks between words: blanks within a line stay,
// around breaks they go; one break becomes a space, each further one a newline.
// escaped: the first break was escaped and is nothing.
func (d *scalarDecoder) decodeGap(escaped bool) {
	begin := d.at
	var breaks []int
	for d.at < len(d.text) {
		n := breakLen(d.text[d.at:])
		if n == 0 && !isBlank(d.text[d.at]) {
			break
		}
		if n > 0 {
			breaks = append(breaks, d.at)
		}
		d.at += max(n, 1)
	}
	if len(breaks) == 0 {
		if !escaped {
			d.emitBlanks(begin)
		}
		return
	}
	d.foldBreaks(breaks, escaped)
}

func (d *scalarDecoder) emitBlanks(begin int) {
	n := d.at - begin
	d.at = begin
	d.copySource(n)
}

func (d *scalarDecoder) foldBreaks(breaks []int, escaped bool) {
	first := normalBreak(d.text[breaks[0]:])
	switch {
	case escaped:
		d.emitText(first, breaks[0])
	case first != "\n":
		d.emitText(first, breaks[0])
	case len(breaks) == 1:
		d.emitText(" ", breaks[0])
	}
	for _, b := range breaks[1:] {
		d.emitText(normalBreak(d.text[b:]), b)
	}
}

// normalBreak returns what the break at the beginning of s becomes in a value.
func normalBreak(s string) string {
	if breakLen(s) == 3 {
		return s[:3]
	}
	return "\n"
}

func escapeNone(string) (int, string, bool) { return 0, "", false }

func escapeSingle(text string) (int, string, bool) {
	if strings.HasPrefix(text, "''") {
		return 2, "'", false
	}
	return 0, "", false
}

// simpleEscapes are those of one character in double-quoted scalars.
const simpleEscapes = "0\x00a\ab\bt\t\t\tn\nv\vf\fr\re\x1b  \"\"''\\\\"

func escapeDouble(text string) (int, string, bool) {
	if len(text) < 2 || text[0] != '\\' {
		return 0, "", false
	}
	if n := breakLen(text[1:]); n > 0 {
		return 1 + n, "", true
	}
	for i := 0; i < len(simpleEscapes); i += 2 {
		if simpleEscapes[i] == text[1] {
			return 2, simpleEscapes[i+1 : i+2], false
		}
	}
	switch text[1] {
	case 'N':
		return 2, "\u0085", false
	case '_':
		return 2, "\u00a0", false
	case 'L':
		return 2, "\u2028", false
	case 'P':
		return 2, "\u2029", false
	case 'x':
		return escapeHex(text, 2)
	case 'u':
		return escapeHex(text, 4)
	case 'U':
		return escapeHex(text, 8)
	default:
		return 0, "", false
	}
}

func escapeHex(text string, digits int) (int, string, bool) {
	if len(text) < 2+digits {
		return 0, "", false
	}
	code, err := strconv.ParseUint(text[2:2+digits], 16, 32)
	if err != nil {
		return 0, "", false
	}
	return 2 + digits, string(rune(code)), false
}
