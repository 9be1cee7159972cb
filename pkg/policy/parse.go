package policy

import (
	"errors"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// Document is the text of one policy with its places, not yet checked. It is
// immutable and safe for concurrent use.
type Document struct {
	src  *source
	root *yaml.Node // a mapping
}

// Name returns metadata.name, "" if there is none.
func (d *Document) Name() string { return d.text("metadata", "name") }

// Namespace returns metadata.namespace, "" if there is none.
func (d *Document) Namespace() string { return d.text("metadata", "namespace") }

func (d *Document) text(path ...any) string {
	n := lookup(d.root, path...)
	if n == nil || n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
		return ""
	}
	return n.Value
}

// IsFileName says whether what has this name is read for policies where nobody has asked
// for it by name: a file of a folder, a key of a ConfigMap. Its name ends in .yaml or .yml;
// case counts.
func IsFileName(name string) bool {
	extension := path.Ext(name)
	return extension == ".yaml" || extension == ".yml"
}

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
	found := &findings{src: src}
	if at := invalidUTF8(src.text); at >= 0 {
		found.add(at, "this is not UTF-8 text")
		return nil, found.err()
	}
	if at := tooLong(src.text); at >= 0 {
		found.add(at, "this document has more than %d commas, brackets and ends of lines before this place: it is too large for a policy", maxSeparators)
		return nil, found.err()
	}
	var out []*Document
	decoder := yaml.NewDecoder(strings.NewReader(src.text))
	for {
		var n yaml.Node
		err := decoder.Decode(&n)
		if errors.Is(err, io.EOF) {
			return out, found.err()
		}
		if err != nil {
			found.add(syntaxError(src, err))
			return out, found.err()
		}
		for _, root := range policyRoots(&n, found) {
			if deep := tooDeep(root); deep != nil {
				found.at(deep, "%s", tooDeepText)
				continue
			}
			if wide := tooWide(root); wide != nil {
				found.at(wide, "%s", tooWideText)
				continue
			}
			out = append(out, &Document{src: src, root: authored(root)})
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
func policyRoots(document *yaml.Node, found *findings) []*yaml.Node {
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
func policyRoot(document *yaml.Node, found *findings) *yaml.Node {
	root := contentOf(document)
	if root == nil || !isPolicy(root, "", found) {
		return nil
	}
	return root
}

// contentOf returns what is in a document, nil for nothing.
func contentOf(document *yaml.Node) *yaml.Node {
	if len(document.Content) == 0 || isNull(document.Content[0]) {
		return nil
	}
	return document.Content[0]
}

// isPolicy says whether n, which stands at a path, is a policy by its apiVersion and
// kind, or adds why it is none.
func isPolicy(n *yaml.Node, path string, found *findings) bool {
	if n.Kind != yaml.MappingNode {
		found.at(n, "a policy must be a mapping, this is %s", describe(n))
		return false
	}
	version := isHeader(n, path, "apiVersion", v1alpha1.GroupVersion.String(), found)
	kind := isHeader(n, path, "kind", v1alpha1.Kind, found)
	return version && kind
}

func isHeader(root *yaml.Node, path, field, want string, found *findings) bool {
	n := lookup(root, field)
	if n == nil {
		found.at(root, "%s is required: it must be %s", join(path, field), want)
		return false
	}
	if n.Kind != yaml.ScalarNode || n.Value != want {
		found.at(n, "%s must be %s, is %s", join(path, field), want, describe(n))
		return false
	}
	return true
}
