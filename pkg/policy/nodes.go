package policy

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// lint finds what no policy may contain anywhere, whatever it means: anchors,
// aliases, tags, merge keys, keys that are no strings, and keys that stand twice.
func lint(n *yaml.Node, found *findings) {
	switch {
	case n.Kind == yaml.AliasNode:
		found.at(n, "aliases are not supported: write the value out, or make it a variable")
		return
	case n.Anchor != "":
		found.at(n, "anchors are not supported: write the value out, or make it a variable")
	case hasOwnTag(n):
		found.at(n, "YAML takes %s for a tag: %s", shorten(n.Tag), quoteMark)
	case n.Style&yaml.TaggedStyle != 0:
		found.at(n, "tags are not supported: leave out %s", n.Tag)
	}
	if n.Kind == yaml.MappingNode {
		lintKeys(n, found)
	}
	for _, c := range n.Content {
		lint(c, found)
	}
}

// quoteMark says what to do with an expression that begins with an exclamation mark.
const quoteMark = "an expression that begins with ! stands in quotes, as in '!has(object.spec.paused)'"

// hasOwnTag says whether n has a tag that is none of YAML's own, as an expression has that
// begins with an exclamation mark.
func hasOwnTag(n *yaml.Node) bool {
	return n.Style&yaml.TaggedStyle != 0 && !strings.HasPrefix(n.Tag, "!!")
}

func lintKeys(n *yaml.Node, found *findings) {
	first := map[string]*yaml.Node{}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind == yaml.AliasNode:
		case key.Tag == "!!merge":
			found.at(key, "merge keys are not supported: write the fields out")
		case key.Kind != yaml.ScalarNode || key.Tag != "!!str":
			found.at(key, "a key must be a string, this is %s%s", describe(key), quoteHint(key))
		case first[key.Value] != nil:
			line := found.src.errorAt(found.src.offset(first[key.Value]), "").Line
			found.at(key, "field %q stands here for the second time; the first is at line %d", key.Value, line)
		default:
			first[key.Value] = key
		}
	}
}

// pairs calls f for each key of n, a mapping, with its value; of keys that stand
// twice only the first counts, and keys that are no strings do not.
func pairs(n *yaml.Node, f func(key, value *yaml.Node)) {
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || key.Tag != "!!str" || seen[key.Value] {
			continue
		}
		seen[key.Value] = true
		f(key, n.Content[i+1])
	}
}

// find returns the node at a path of keys and list positions below n. Of a path
// that does not exist it returns the last node on the way. n must not be nil.
func find(n *yaml.Node, path ...any) *yaml.Node {
	for _, element := range path {
		next := step(n, element)
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

// lookup returns the node at a path, nil if there is none.
func lookup(n *yaml.Node, path ...any) *yaml.Node {
	for _, element := range path {
		if n = step(n, element); n == nil {
			return nil
		}
	}
	return n
}

func step(n *yaml.Node, element any) *yaml.Node {
	var out *yaml.Node
	switch e := element.(type) {
	case int:
		if n.Kind == yaml.SequenceNode && e < len(n.Content) {
			out = n.Content[e]
		}
	case string:
		if n.Kind == yaml.MappingNode {
			pairs(n, func(key, value *yaml.Node) {
				if key.Value == e {
					out = value
				}
			})
		}
	}
	return out
}

// keyNode returns the key itself in n, a mapping; n if it is not there.
func keyNode(n *yaml.Node, name string) *yaml.Node {
	out := n
	pairs(n, func(key, _ *yaml.Node) {
		if key.Value == name {
			out = key
		}
	})
	return out
}

// describe says what a node is, for messages.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch n.Tag {
	case "!!null":
		return "nothing"
	case "!!bool":
		return "the bool " + n.Value
	case "!!int", "!!float":
		return "the number " + n.Value
	case "!!timestamp":
		return "the date " + n.Value
	default:
		return "the string " + strconv.Quote(shorten(n.Value))
	}
}

// quoteHint says how to make a string of a scalar that YAML takes for something
// else.
func quoteHint(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || n.Tag == "!!str" || n.Tag == "!!merge" {
		return ""
	}
	return fmt.Sprintf(": quote it, %q", n.Value)
}

func shorten(s string) string {
	const most = 60
	if i := strings.IndexByte(s, '\n'); i >= 0 && i < most {
		return s[:i] + "..."
	}
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}

// join extends a path for messages: spec, children, 0 -> spec.children[0].
func join(path string, element any) string {
	switch e := element.(type) {
	case int:
		return fmt.Sprintf("%s[%d]", path, e)
	default:
		if path == "" {
			return fmt.Sprint(e)
		}
		return fmt.Sprintf("%s.%v", path, e)
	}
}
