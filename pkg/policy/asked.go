package policy

import (
	"fmt"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"
)

// asked checks the names that an expression or template asks `ready(...)` of. All
// are in scope, but only children are ready or not.
func (c *compiler) asked(n *yaml.Node, names []string, s scope) {
	for _, name := range names {
		switch {
		case name == s.one:
			c.atAsked(n, name, fmt.Sprintf("whether %q is ready cannot depend on itself", name))
		case !slices.Contains(c.names.children, name):
			c.atAsked(n, name, fmt.Sprintf("ready() can be asked of a child only; %q is none%s", name, suggest(name, c.names.children)))
		}
	}
}

// atAsked adds a mistake at the first place in n where a name is asked for.
func (c *compiler) atAsked(n *yaml.Node, name, message string) {
	asks := regexp.MustCompile(`\bready\(\s*` + regexp.QuoteMeta(name) + `\s*\)`)
	if at, offset := findText(n, asks); at != nil {
		c.in(at, offset, "%s", message)
		return
	}
	c.at(n, "%s", message)
}

// findText returns the first string at or below n that has a match, and where.
func findText(n *yaml.Node, what *regexp.Regexp) (*yaml.Node, int) {
	if isTextNode(n) {
		if at := what.FindStringIndex(n.Value); at != nil {
			return n, at[0]
		}
	}
	for _, below := range n.Content {
		if at, offset := findText(below, what); at != nil {
			return at, offset
		}
	}
	return nil, 0
}
