package problems

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// MessageSuffix is a message behind a colon, on one line; nothing for none.
func MessageSuffix(message string) string {
	if message == "" {
		return ""
	}
	return ": " + OneLine(message)
}

// WriteYAML writes a value as YAML, indented.
func WriteYAML(b *strings.Builder, v any) {
	encoded, err := yaml.Marshal(v)
	if err != nil {
		encoded = fmt.Appendf(nil, "cannot be shown: %v\n", err)
	}
	b.WriteString(IndentLines(string(encoded)))
}

// IndentLines indents each line by two spaces.
func IndentLines(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString("  " + line)
	}
	return b.String()
}

// OneLine joins the words of a text with single spaces.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// IsReasonText says whether s is made of what the reason of a condition may have: a letter, then letters, digits
// and _,: in any order. The API allows neither of the last two at the end; callers bound the length.
func IsReasonText(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case i > 0 && ('0' <= c && c <= '9' || strings.IndexByte("_,:", c) >= 0):
		default:
			return false
		}
	}
	return s != ""
}
