package policy

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// MostExpressionBytes is how much text all expressions of one policy may have together, in
// bytes: bare CEL, and each string of a template that has CEL in it. It bounds what one
// policy costs those who wait for the compiler.
const MostExpressionBytes = 256 << 10

// affords counts the text of the expressions in n, a field of CEL or a template, and reports
// whether they may be compiled. The first that is over the limit is a mistake; none after it
// is compiled.
func (c *compiler) affords(n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode {
		c.countStrings(n)
	} else {
		c.count(n)
	}
	return c.exprBytes <= MostExpressionBytes
}

// countStrings counts the strings of a template that have CEL in them, keys included.
func (c *compiler) countStrings(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "${") {
		c.count(n)
	}
	for _, item := range n.Content {
		c.countStrings(item)
	}
}

func (c *compiler) count(n *yaml.Node) {
	within := c.exprBytes <= MostExpressionBytes
	if c.exprBytes += len(n.Value); within && c.exprBytes > MostExpressionBytes {
		c.at(n, "the expressions of the policy have more than %d bytes of text up to here: make two policies of it", MostExpressionBytes)
	}
}
