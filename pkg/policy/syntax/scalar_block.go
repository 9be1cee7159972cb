package syntax

// decodeBlock decodes a literal or folded scalar whose header (`|` or `>`)
// stands at place at.
//
// How far the content is indented may depend on the collection around the
// scalar, so every indentation that is possible is tried, the natural one
// first; want decides.
func decodeBlock(text string, at int, want string, folded bool) (scalarMap, bool) {
	content := lineEnd(text, at)
	content += breakLen(text[content:])
	for indent := naturalIndent(text, content); indent >= 1; indent-- {
		d := &scalarDecoder{text: text, at: content, want: want}
		if m, ok := d.decodeLines(indent, folded); ok {
			return m, true
		}
	}
	return nil, false
}

// naturalIndent returns the indentation of the first line with something in it.
func naturalIndent(text string, at int) int {
	indent := 0
	for at < len(text) {
		n := leadingSpaces(text[at:])
		indent = max(indent, n)
		at += n
		b := breakLen(text[at:])
		if b == 0 {
			break
		}
		at += b
	}
	return max(indent, 1)
}

func leadingSpaces(s string) int {
	n := 0
	for n < len(s) && s[n] == ' ' {
		n++
	}
	return n
}

// decodeLines decodes lines of one indentation. Breaks are kept back until it is known
// what follows, since folding depends on it, and written up to the length of the
// value at the end, which is what chomping comes to.
func (d *scalarDecoder) decodeLines(indent int, folded bool) (scalarMap, bool) {
	var pending []int // breaks since the last line with content; the first ended that line
	first, wasMore := true, false
	for d.out.Len() < len(d.want) && d.at < len(d.text) {
		line := d.at
		at := line + min(leadingSpaces(d.text[line:]), indent)
		if n := breakLen(d.text[at:]); n > 0 {
			pending, d.at = append(pending, at), at+n
			continue
		}
		if at-line < indent || at >= len(d.text) {
			break
		}
		isMore := isBlank(d.text[at])
		d.emitBreaks(pending, folded && !first && !wasMore && !isMore)
		d.at = at
		d.copySource(lineEnd(d.text, at) - at)
		pending, first, wasMore = nil, false, isMore
		if n := breakLen(d.text[d.at:]); n > 0 {
			pending, d.at = []int{d.at}, d.at+n
		}
	}
	return d.emitLastBreaks(pending)
}

// emitBreaks writes the breaks between two lines of content.
func (d *scalarDecoder) emitBreaks(pending []int, fold bool) {
	if fold && normalBreak(d.text[pending[0]:]) == "\n" {
		if len(pending) == 1 {
			d.emitText(" ", pending[0])
		}
		pending = pending[1:]
	}
	for _, b := range pending {
		d.emitText(normalBreak(d.text[b:]), b)
	}
}

// emitLastBreaks writes as many of the last breaks as the value has. The end of the value
// is the end of its last line, not somewhere below it.
func (d *scalarDecoder) emitLastBreaks(pending []int) (scalarMap, bool) {
	for _, b := range pending {
		if d.out.Len() >= len(d.want) {
			d.at = b
			break
		}
		d.emitText(normalBreak(d.text[b:]), b)
	}
	return d.closeMap()
}
