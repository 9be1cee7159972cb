package syntax

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// EachPair calls f for each key of n, a mapping, with its value; of keys that stand
// twice only the first counts, and keys that are no strings do not.
func EachPair(n *yaml.Node, f func(key, value *yaml.Node)) {
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

// LookupNearest returns the node at a path of keys and list positions below n. Of a path
// that does not exist it returns the last node on the way. n must not be nil.
func LookupNearest(n *yaml.Node, path ...any) *yaml.Node {
	for _, element := range path {
		next := stepInto(n, element)
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

// LookupNode returns the node at a path, nil if there is none.
func LookupNode(n *yaml.Node, path ...any) *yaml.Node {
	for _, element := range path {
		if n = stepInto(n, element); n == nil {
			return nil
		}
	}
	return n
}

func stepInto(n *yaml.Node, element any) *yaml.Node {
	var out *yaml.Node
	switch e := element.(type) {
	case int:
		if n.Kind == yaml.SequenceNode && e < len(n.Content) {
			out = n.Content[e]
		}
	case string:
		if n.Kind == yaml.MappingNode {
			EachPair(n, func(key, value *yaml.Node) {
				if key.Value == e {
					out = value
				}
			})
		}
	}
	return out
}

// KeyNode returns the key itself in n, a mapping; n if it is not there.
func KeyNode(n *yaml.Node, name string) *yaml.Node {
	out := n
	EachPair(n, func(key, _ *yaml.Node) {
		if key.Value == name {
			out = key
		}
	})
	return out
}

// DescribeNode says what a node is, for messages.
func DescribeNode(n *yaml.Node) string {
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
		return "the string " + strconv.Quote(ShortenText(n.Value))
	}
}

// QuoteHint says how to make a string of a scalar that YAML takes for something
// else.
func QuoteHint(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || n.Tag == "!!str" || n.Tag == "!!merge" {
		return ""
	}
	return fmt.Sprintf(": quote it, %q", n.Value)
}

// ShortenText returns what is shown of a text in messages: the beginning of its first line.
func ShortenText(s string) string {
	const most = 60
	if i := strings.IndexByte(s, '\n'); i >= 0 && i < most {
		return s[:i] + "..."
	}
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}

// JoinPath extends a path for messages: spec, children, 0 -> spec.children[0].
func JoinPath(path string, element any) string {
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

// IsNull says whether n is nothing: `null`, `~` or empty.
func IsNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// IsText says whether n is a string.
func IsText(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!str" }

// LiteralKind returns the kind in n, a mapping or nil, if it is legible.
func LiteralKind(n *yaml.Node) (schema.GroupVersionKind, bool) {
	if n == nil {
		return schema.GroupVersionKind{}, false
	}
	version, kind := LookupNode(n, "apiVersion"), LookupNode(n, "kind")
	if version == nil || kind == nil || !IsText(version) || !IsText(kind) {
		return schema.GroupVersionKind{}, false
	}
	gv, err := schema.ParseGroupVersion(version.Value)
	return gv.WithKind(kind.Value), err == nil
}
