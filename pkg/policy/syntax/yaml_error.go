package syntax

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// syntaxError returns where an error of the YAML reader stands, and its text. The
// reader itself names at most the line where the surrounding collection begins,
// so the text is read again, a byte at a time, to see how far it comes.
func syntaxError(src *source, err error) (int, string) {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 0
	if _, scanErr := fmt.Sscanf(message, "line %d: ", &line); scanErr == nil {
		message = message[strings.Index(message, ": ")+2:]
	}
	message = "this is no YAML: " + message
	at := wordBefore(src.text, bytesConsumed(src.text))
	if strings.Contains(message, "unexpected end of stream") && line > 0 {
		at = skipGaps(src.text, src.offsetOf(line, 1))
	}
	switch wrong := lineAt(src.text, at); {
	case beginsWithMark.MatchString(wrong):
		message += "; " + quoteMark
	case strings.Contains(wrong, "${"):
		message += "; a value with ${...} that holds a colon, a comma, a brace or a quote stands in quotes"
	}
	return at, message
}

// beginsWithMark is a line with a value, or an element, that begins with an exclamation mark.
var beginsWithMark = regexp.MustCompile(`(^|[:,{]\s+|-\s+)!`)

// lineAt returns the line that an offset is in.
func lineAt(text string, at int) string {
	at = min(at, len(text))
	from := strings.LastIndexByte(text[:at], '\n') + 1
	line, _, _ := strings.Cut(text[from:], "\n")
	return line
}

// bytesConsumed returns how much of text the YAML reader takes before it fails.
func bytesConsumed(text string) int {
	r := &slowReader{text: text}
	decoder := yaml.NewDecoder(r)
	for {
		var n yaml.Node
		if decoder.Decode(&n) != nil {
			return r.at
		}
	}
}

// slowReader gives one byte at a time.
type slowReader struct {
	text string
	at   int
}

func (r *slowReader) Read(p []byte) (int, error) {
	if r.at >= len(r.text) {
		return 0, io.EOF
	}
	n := copy(p[:1], r.text[r.at:])
	r.at += n
	return n, nil
}

// wordBefore returns where the word begins that the reader was at: it looks up to
// four characters ahead.
func wordBefore(text string, at int) int {
	const ahead = 4
	at = max(at-ahead, 0)
	if at < len(text) && text[at] == '\t' {
		return at
	}
	for at > 0 && (at >= len(text) || isBlank(text[at]) || breakLen(text[at:]) > 0 || !utf8.RuneStart(text[at])) {
		at--
	}
	for at > 0 && !isBlank(text[at-1]) && text[at-1] != '\n' {
		at--
	}
	return at
}
