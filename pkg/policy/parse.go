package policy

import (
	"errors"
	"io"
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

// Parse returns the policies in data, in order; documents with nothing in them are
// skipped. file is only a name, for messages. data is not kept.
//
// The error is Errors: text that is no YAML, and documents that are no policies.
// The policies that could be read are returned also then.
func Parse(file string, data []byte) ([]*Document, error) {
	src := newSource(file, string(data))
	found := &findings{src: src}
	if at := invalidUTF8(src.text); at >= 0 {
		found.add(at, "this is not UTF-8 text")
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
		if root := policyRoot(&n, found); root != nil {
			out = append(out, &Document{src: src, root: root})
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

// policyRoot returns the content of a document if it is a policy by its
// apiVersion and kind, and else says why it is none.
func policyRoot(document *yaml.Node, found *findings) *yaml.Node {
	if len(document.Content) == 0 {
		return nil
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil
	}
	if root.Kind != yaml.MappingNode {
		found.at(root, "a policy must be a mapping, this is %s", describe(root))
		return nil
	}
	version := isHeader(root, "apiVersion", v1alpha1.GroupVersion.String(), found)
	kind := isHeader(root, "kind", v1alpha1.Kind, found)
	if !version || !kind {
		return nil
	}
	return root
}

func isHeader(root *yaml.Node, field, want string, found *findings) bool {
	n := lookup(root, field)
	if n == nil {
		found.at(root, "%s is required: it must be %s", field, want)
		return false
	}
	if n.Kind != yaml.ScalarNode || n.Value != want {
		found.at(n, "%s must be %s, is %s", field, want, describe(n))
		return false
	}
	return true
}
