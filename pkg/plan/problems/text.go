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
