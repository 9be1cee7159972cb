package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCommands: what a document says to type has only flags that the command knows.
func TestCommands(t *testing.T) {
	known := map[string][]string{}
	lines := 0
	for _, document := range documents(t) {
		for _, line := range commandsIn(read(t, document)) {
			lines++
			name := line[0]
			if known[name] == nil {
				known[name] = append(flagsIn(help(t, name)), "--help", "")
			}
			if len(known[name]) == 2 {
				t.Errorf("%s: there is no command `ambit %s`", document, name)
				continue
			}
			for _, word := range line[1:] {
				flag, _, _ := strings.Cut(word, "=")
				if strings.HasPrefix(flag, "--") && !slices.Contains(known[name], flag) {
					t.Errorf("%s: `ambit %s` has no flag %s", document, name, flag)
				}
			}
		}
	}
	if lines < 10 {
		t.Errorf("found only %d command lines", lines)
	}
}

// commandsIn are the command lines of ambit in the code blocks and the backticks of a
// document: the command, and the words behind it as far as they are its own.
func commandsIn(document string) [][]string {
	var found [][]string
	code := regexp.MustCompile("(?s)\n```(?:sh|console)?\n(.*?)\n```|`([^`\n]+)`").FindAllStringSubmatch(document, -1)
	for _, match := range code {
		for _, line := range strings.Split(match[1]+match[2], "\n") {
			own := regexp.MustCompile(`^(?:\$ )?(?:bin/|kubectl )?ambit ([a-z]+)\b([^|#;>]*)`).FindStringSubmatch(strings.TrimSpace(line))
			if own != nil {
				found = append(found, append([]string{own[1]}, strings.Fields(own[2])...))
			}
		}
	}
	return found
}
