package cel

import "strings"

// templatePiece is a stretch of a template string.
type templatePiece struct {
	expression bool
	text       string // unescaped literal text, or the expression without ${ and }
	offset     int    // of text in the string, for expressions
}

// splitTemplate takes a template string apart. Adjacent literal text is one piece.
func splitTemplate(s string) ([]templatePiece, *TemplateIssue) {
	var pieces []templatePiece
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			pieces = append(pieces, templatePiece{text: literal.String()})
			literal.Reset()
		}
	}
	for at := 0; at < len(s); {
		switch {
		case strings.HasPrefix(s[at:], "$${"):
			literal.WriteString("${")
			at += 3
		case strings.HasPrefix(s[at:], "${"):
			length, ok := expressionLength(s[at+2:])
			if !ok {
				return nil, &TemplateIssue{Offset: at, Message: "${ without its closing }"}
			}
			source := s[at+2 : at+2+length]
			if strings.TrimSpace(source) == "" {
				return nil, &TemplateIssue{Offset: at, Message: "${} holds no expression"}
			}
			flush()
			pieces = append(pieces, templatePiece{expression: true, text: source, offset: at + 2})
			at += 2 + length + 1
		default:
			literal.WriteByte(s[at])
			at++
		}
	}
	flush()
	return pieces, nil
}

// expressionLength returns how long the expression at the start of s is: up to
// the } that closes it, outside of CEL's string literals, comments and braces.
func expressionLength(s string) (int, bool) {
	depth := 0
	for at := 0; at < len(s); {
		switch ch := s[at]; {
		case ch == '{':
			depth++
		case ch == '}' && depth == 0:
			return at, true
		case ch == '}':
			depth--
		case ch == '"' || ch == '\'':
			at += literalLength(s[at:], isRawLiteral(s, at))
			continue
		case strings.HasPrefix(s[at:], "//"):
			end := strings.IndexByte(s[at:], '\n')
			if end < 0 {
				return 0, false
			}
			at += end
		}
		at++
	}
	return 0, false
}

// isRawLiteral reports whether the quote at that place opens a raw string: after r, R, and
// also with b or B beside it.
func isRawLiteral(s string, at int) bool {
	start := at
	for start > 0 && strings.IndexByte("rRbB", s[start-1]) >= 0 {
		start--
	}
	prefix := s[start:at]
	if start > 0 && isWordByte(s[start-1]) { // the tail of an identifier
		return false
	}
	return len(prefix) <= 2 && strings.ContainsAny(prefix, "rR")
}

func isWordByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// literalLength returns the length of the string literal that s begins with,
// quotes included; of all of s if it is not closed.
func literalLength(s string, raw bool) int {
	quote := s[:1]
	if strings.HasPrefix(s, strings.Repeat(quote, 3)) {
		quote = s[:3]
	}
	for at := len(quote); at < len(s); at++ {
		if s[at] == '\\' && !raw {
			at++
			continue
		}
		if strings.HasPrefix(s[at:], quote) {
			return at + len(quote)
		}
	}
	return len(s)
}
