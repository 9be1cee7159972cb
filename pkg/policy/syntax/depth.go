package syntax

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MaxDepth is how many mappings and lists may stand in each other, the whole counted: of
// a policy, and of an object that is read from a file. The deepest kinds of Kubernetes
// need about thirty.
const MaxDepth = 100

// tooDeepText is the message of text and objects that are nested too deep.
var tooDeepText = fmt.Sprintf("this is nested more than %d deep: mappings and lists may stand in each other up to %d times", MaxDepth, MaxDepth)

// CheckDepth refuses YAML or JSON text with a document that is nested more than MaxDepth
// deep, also if it is so only when its aliases are followed. The error is Errors, with the
// place in the text. Text that is no YAML is left to whoever reads it. file is only a
// name, for messages. It costs memory in proportion to the text.
func CheckDepth(file string, data []byte) error {
	src := newSource(file, string(data))
	found := &Diagnostics{src: src}
	decoder := yaml.NewDecoder(strings.NewReader(src.text))
	for {
		var document yaml.Node
		if decoder.Decode(&document) != nil {
			return found.Err()
		}
		if n := findTooDeep(contentOf(&document)); n != nil {
			found.At(n, "%s", tooDeepText)
			continue
		}
		if n := tooDeepByAlias(&document); n != nil {
			found.At(n, "with what its aliases stand for, %s", tooDeepText)
		}
	}
}

// findTooDeep returns the first mapping or list below n that is nested deeper than MaxDepth;
// nil if there is none. It follows no alias.
func findTooDeep(n *yaml.Node) *yaml.Node { return deeperThan(n, MaxDepth) }

func deeperThan(n *yaml.Node, levels int) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode && n.Kind != yaml.SequenceNode {
		return nil
	}
	if levels == 0 {
		return n
	}
	for _, c := range n.Content {
		if deep := deeperThan(c, levels-1); deep != nil {
			return deep
		}
	}
	return nil
}

// tooDeepByAlias returns the first alias of a document that makes it deeper than MaxDepth;
// nil if there is none. What the document says itself must not be too deep.
func tooDeepByAlias(document *yaml.Node) *yaml.Node {
	h := heights{known: map[*yaml.Node]int{}}
	return h.deepAlias(document, 0)
}

// heights are how deep nodes are nested, aliases followed, each found once.
type heights struct{ known map[*yaml.Node]int }

// heightOf returns the height of a node. An alias to what it stands in has no end.
func (h heights) heightOf(n *yaml.Node) int {
	if height, ok := h.known[n]; ok {
		return height
	}
	h.known[n] = MaxDepth + 1 // as long as it is not known: only a circle asks
	height := 0
	if n.Kind == yaml.AliasNode {
		height = h.heightOf(n.Alias)
	}
	for _, c := range n.Content {
		height = max(height, h.heightOf(c))
	}
	if n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode {
		height++
	}
	h.known[n] = height
	return height
}

// deepAlias returns the first alias below n that leads beyond MaxDepth from this depth.
func (h heights) deepAlias(n *yaml.Node, depth int) *yaml.Node {
	if n.Kind == yaml.AliasNode && depth+h.heightOf(n) > MaxDepth {
		return n
	}
	if n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode {
		depth++
	}
	for _, c := range n.Content {
		if deep := h.deepAlias(c, depth); deep != nil {
			return deep
		}
	}
	return nil
}

// errTooDeep is the error of an object that is nested too deep; nil if it is not.
func errTooDeep(file string, object map[string]any) error {
	path, deep := deepPath(object, MaxDepth)
	if !deep {
		return nil
	}
	slices.Reverse(path)
	text := strings.TrimPrefix(strings.Join(path, ""), ".")
	return Errors{{File: file, Path: ShortenText(text), Message: tooDeepText}}
}

// deepPath returns the way, from its end, to a value that is nested deeper than so many
// levels, and whether there is one.
func deepPath(value any, levels int) (path []string, deep bool) {
	switch v := value.(type) {
	case map[string]any:
		if levels == 0 {
			return nil, true
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if path, deep := deepPath(v[key], levels-1); deep {
				return append(path, "."+key), true
			}
		}
	case []any:
		if levels == 0 {
			return nil, true
		}
		for i, element := range v {
			if path, deep := deepPath(element, levels-1); deep {
				return append(path, fmt.Sprintf("[%d]", i)), true
			}
		}
	}
	return nil, false
}
