package policy

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// policyText is the text of the policy that is compiled: its parts, where they stand, and what
// is wrong with them.
type policyText struct {
	*syntax.Diagnostics
	root   *yaml.Node
	places map[string]string // of parts by their names, for Program.Place
}

// field is a part of the policy: its node, nil if it is not there, and its name
// for Program.Place.
type field struct {
	node *yaml.Node
	what string
}

// specField returns what stands at a path below spec.
func (t *policyText) specField(what string, path ...any) field {
	spec := syntax.LookupNode(t.root, "spec")
	if spec == nil {
		return field{what: what}
	}
	return field{node: syntax.LookupNode(spec, path...), what: what}
}

// below returns a part of f.
func (f field) below(what string, path ...any) field {
	if f.node == nil {
		return field{what: what}
	}
	return field{node: syntax.LookupNode(f.node, path...), what: what}
}

// isText says whether f is there and a string; whatever else it may be has been
// refused by syntax.DecodePolicy.
func (f field) isText() bool { return f.node != nil && syntax.IsText(f.node) && f.node.Value != "" }

// notePlace notes where a part of the policy stands.
func (t *policyText) notePlace(what string, n *yaml.Node) { t.places[what] = t.PlaceOf(n) }

// mostPlace is how long the name of a part of a template may be for its place to be
// noted. With syntax.MaxDepth and without this, names would be a hundred times as long as the text.
const mostPlace = 1 << 10

// noteTemplatePlaces notes the places of a template and of what can fail in it: expressions, and
// what metadata and stringData say. What is named longer than mostPlace has the place of
// what it stands in.
func (t *policyText) noteTemplatePlaces(f field) {
	t.notePlace(f.what, f.node)
	t.notePlacesBelow(f, false)
}

// notePlacesBelow notes the places below f; literals: also those without expressions.
func (t *policyText) notePlacesBelow(f field, literals bool) {
	step, name := 1, func(i int) string { return syntax.JoinPath(f.what, i) }
	if f.node.Kind == yaml.MappingNode {
		step, name = 2, func(i int) string { return syntax.JoinPath(f.what, f.node.Content[i-1].Value) }
	}
	for i := step - 1; i < len(f.node.Content); i += step {
		n := f.node.Content[i]
		isPart := n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode
		if !isPart && !literals && !strings.Contains(n.Value, "${") {
			continue
		}
		below := field{n, name(i)}
		if len(below.what) > mostPlace {
			continue
		}
		key := f.node.Content[i-step+1].Value
		said := step == 2 && (key == "metadata" || key == "stringData")
		if !isPart || said {
			t.notePlace(below.what, n)
		}
		if isPart {
			t.notePlacesBelow(below, said)
		}
	}
}
