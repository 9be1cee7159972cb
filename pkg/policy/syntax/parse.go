// Package syntax reads the text of policies: YAML, or objects of the API server, to Documents
// that know the place of each of their nodes. It decodes them into the types of the API, and
// says what is wrong with a text as Errors, each at its line and column, also inside of
// the CEL of folded and quoted scalars.
//
//	data -> Parse -> []*Document -> DecodePolicy -> *v1alpha1.ReconcilePolicy
//
// A mistake is added to Diagnostics with the node that it is about; reading goes on after it.
//
// Valid input is UTF-8 YAML with `---` between documents, each of apiVersion
// ambit.dev/v1alpha1 and kind ReconcilePolicy, or a List of such. Unknown fields,
// duplicate keys, merge keys, anchors and aliases are errors: a policy says what it
// means where it says it.
//
// The package is pure, and knows nothing of CEL: what a policy means is for package policy.
package syntax

import (
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/spelling"
)

// Parse returns the policies in data, in order; documents with nothing in them are
// skipped, and Lists as kubectl prints them taken apart. file is only a name, for
// messages. data is not kept.
//
// Of a policy that an API server has stored, as its metadata.uid shows, status and
// metadata do not count but for the name and the namespace: nobody has written them.
//
// The error is Errors: text that is no YAML, documents that are no policies, and policies
// that are nested more than MaxDepth deep or have more than MaxValues values.
// The policies that could be read are returned also then.
func Parse(file string, data []byte) ([]*Document, error) {
	src := newSource(file, string(data))
	found := &Diagnostics{src: src}
	if at := invalidUTF8(src.text); at >= 0 {
		found.addAt(at, "this is not UTF-8 text")
		return nil, found.Err()
	}
	if at := findTooLong(src.text); at >= 0 {
		found.addAt(at, "this document has more than %d commas, brackets and ends of lines before this place: it is too large for a policy", maxSeparators)
		return nil, found.Err()
	}
	var out []*Document
	decoder := yaml.NewDecoder(strings.NewReader(src.text))
	for {
		var n yaml.Node
		err := decoder.Decode(&n)
		if errors.Is(err, io.EOF) {
			return out, found.Err()
		}
		if err != nil {
			found.addAt(syntaxError(src, err))
			return out, found.Err()
		}
		for _, root := range policyRoots(&n, found) {
			if deep := findTooDeep(root); deep != nil {
				found.At(deep, "%s", tooDeepText)
				continue
			}
			if wide := findTooWide(root); wide != nil {
				found.At(wide, "%s", tooWideText)
				continue
			}
			out = append(out, &Document{src: src, root: withoutServerFields(root)})
		}
	}
}

func invalidUTF8(text string) int {
	for i, r := range text {
		if r != utf8.RuneError {
			continue
		}
		if _, n := utf8.DecodeRuneInString(text[i:]); n == 1 {
			return i
		}
	}
	return -1
}

// policyRoots returns the policies of a document: its content, or the items of the List
// that it is. It says of each other thing why it is no policy.
func policyRoots(document *yaml.Node, found *Diagnostics) []*yaml.Node {
	if root := contentOf(document); root != nil && isList(root) {
		return listItems(root, found)
	}
	if root := policyRoot(document, found); root != nil {
		return []*yaml.Node{root}
	}
	return nil
}

// policyRoot returns the content of a document if it is a policy by its
// apiVersion and kind, and else says why it is none.
func policyRoot(document *yaml.Node, found *Diagnostics) *yaml.Node {
	root := contentOf(document)
	if root == nil || !isPolicy(root, "", found) {
		return nil
	}
	return root
}

// contentOf returns what is in a document, nil for nothing.
func contentOf(document *yaml.Node) *yaml.Node {
	if len(document.Content) == 0 || IsNull(document.Content[0]) {
		return nil
	}
	return document.Content[0]
}

// isPolicy says whether n, which stands at a path, is a policy by its apiVersion and
// kind, or adds why it is none.
func isPolicy(n *yaml.Node, path string, found *Diagnostics) bool {
	if n.Kind != yaml.MappingNode {
		found.At(n, "a policy must be a mapping, this is %s", DescribeNode(n))
		return false
	}
	version := isHeader(n, path, "apiVersion", v1alpha1.GroupVersion.String(), found)
	kind := isHeader(n, path, "kind", v1alpha1.Kind, found)
	return version && kind
}

func isHeader(root *yaml.Node, path, field, want string, found *Diagnostics) bool {
	n := LookupNode(root, field)
	if n == nil {
		found.At(root, "%s is required: it must be %s", JoinPath(path, field), want)
		return false
	}
	if n.Kind != yaml.ScalarNode || n.Value != want {
		found.At(n, "%s must be %s, is %s", JoinPath(path, field), want, DescribeNode(n))
		return false
	}
	return true
}

// isList says whether n is a list of objects: what kubectl prints of several, or the
// API server of all.
func isList(n *yaml.Node) bool {
	gvk, _ := LiteralKind(n)
	return gvk == schema.GroupVersionKind{Version: "v1", Kind: "List"} || gvk == v1alpha1.GroupVersion.WithKind(v1alpha1.Kind+"List")
}

// listItems returns the policies in a list, and says of the other items why they are
// none.
func listItems(list *yaml.Node, found *Diagnostics) []*yaml.Node {
	lintKeys(list, found)
	known := []string{"apiVersion", "kind", "metadata", "items"}
	EachPair(list, func(key, _ *yaml.Node) {
		if !slices.Contains(known, key.Value) {
			found.At(key, "unknown field %q in the list%s", key.Value, spelling.Suggest(key.Value, known))
		}
	})
	items := LookupNode(list, "items")
	switch {
	case items == nil:
		found.At(list, "items is required in a list")
		return nil
	case IsNull(items):
		return nil
	case items.Kind != yaml.SequenceNode:
		found.At(items, "items must be a list, is %s", DescribeNode(items))
		return nil
	}
	var out []*yaml.Node
	for i, item := range items.Content {
		if isPolicy(item, JoinPath("items", i), found) {
			out = append(out, item)
		}
	}
	return out
}

// withoutServerFields returns a policy without what an API server has added to it, if one has: a
// uid is given by nobody else.
func withoutServerFields(root *yaml.Node) *yaml.Node {
	if LookupNode(root, "metadata", "uid") == nil {
		return root
	}
	kept := Parts{}
	EachPair(root, func(key, _ *yaml.Node) { kept[key.Value] = nil })
	delete(kept, "status")
	kept["metadata"] = Parts{"name": nil, "namespace": nil}
	return keepParts(root, kept)
}
