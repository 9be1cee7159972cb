package syntax

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// Lint finds what no policy may contain anywhere, whatever it means: anchors,
// aliases, tags, merge keys, keys that are no strings, and keys that stand twice.
func Lint(n *yaml.Node, found *Diagnostics) {
	switch {
	case n.Kind == yaml.AliasNode:
		found.At(n, "aliases are not supported: write the value out, or make it a variable")
		return
	case n.Anchor != "":
		found.At(n, "anchors are not supported: write the value out, or make it a variable")
	case hasOwnTag(n):
		found.At(n, "YAML takes %s for a tag: %s", ShortenText(n.Tag), quoteMark)
	case n.Style&yaml.TaggedStyle != 0:
		found.At(n, "tags are not supported: leave out %s", n.Tag)
	}
	if n.Kind == yaml.MappingNode {
		lintKeys(n, found)
	}
	for _, c := range n.Content {
		Lint(c, found)
	}
}

// quoteMark says what to do with an expression that begins with an exclamation mark.
const quoteMark = "an expression that begins with ! stands in quotes, as in '!has(object.spec.paused)'"

// hasOwnTag says whether n has a tag that is none of YAML's own, as an expression has that
// begins with an exclamation mark.
func hasOwnTag(n *yaml.Node) bool {
	return n.Style&yaml.TaggedStyle != 0 && !strings.HasPrefix(n.Tag, "!!")
}

func lintKeys(n *yaml.Node, found *Diagnostics) {
	first := map[string]*yaml.Node{}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind == yaml.AliasNode:
		case key.Tag == "!!merge":
			found.At(key, "merge keys are not supported: write the fields out")
		case key.Kind != yaml.ScalarNode || key.Tag != "!!str":
			found.At(key, "a key must be a string, this is %s%s", DescribeNode(key), QuoteHint(key))
		case first[key.Value] != nil:
			found.At(key, "field %q stands here for the second time; the first is at line %d", key.Value, found.LineOf(first[key.Value]))
		default:
			first[key.Value] = key
		}
	}
}
