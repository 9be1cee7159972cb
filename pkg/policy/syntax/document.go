package syntax

import (
	"fmt"
	"io"
	"path"
	"slices"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Document is the text of one policy with its places, not yet checked. It is
// immutable and safe for concurrent use.
type Document struct {
	src  *source
	root *yaml.Node // a mapping
}

// Name returns metadata.name, "" if there is none.
func (d *Document) Name() string { return d.textAt("metadata", "name") }

// Namespace returns metadata.namespace, "" if there is none.
func (d *Document) Namespace() string { return d.textAt("metadata", "namespace") }

func (d *Document) textAt(path ...any) string {
	n := LookupNode(d.root, path...)
	if n == nil || !IsText(n) {
		return ""
	}
	return n.Value
}

// File returns the name given to Parse or FromObject.
func (d *Document) File() string { return d.src.file }

// Root returns the policy as a mapping, which must not be changed.
func (d *Document) Root() *yaml.Node { return d.root }

// IsFileName says whether what has this name is read for policies where nobody has asked
// for it by name: a file of a folder, a key of a ConfigMap. Its name ends in .yaml or .yml;
// case counts.
func IsFileName(name string) bool {
	extension := path.Ext(name)
	return extension == ".yaml" || extension == ".yml"
}

// MaxText is the longest text with policies that is read, in bytes: more than an object of the API
// server may have.
const MaxText = 4 << 20

// ReadText returns what there is to read, and an error if that is more than MaxText.
func ReadText(in io.Reader) ([]byte, error) { return ReadAtMost(in, MaxText) }

// ReadAtMost returns what there is to read, and an error if that is more than so many bytes.
func ReadAtMost(in io.Reader, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(in, most+1))
	if err == nil && int64(len(data)) > most {
		return nil, fmt.Errorf("it has more than %d bytes", most)
	}
	return data, err
}

// Kinds returns the kinds of owner, children and watches, in this order, some more than once.
// Those that are not legible are left out.
func (d *Document) Kinds() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	add := func(n *yaml.Node) {
		if kind, ok := LiteralKind(n); ok {
			kinds = append(kinds, kind)
		}
	}
	add(LookupNode(d.root, "spec", "owner"))
	for _, list := range []struct{ name, of string }{{"children", "template"}, {"watches", ""}} {
		items := LookupNode(d.root, "spec", list.name)
		if items == nil || items.Kind != yaml.SequenceNode {
			continue
		}
		for _, item := range items.Content {
			if list.of != "" {
				item = LookupNode(item, list.of)
			}
			add(item)
		}
	}
	return kinds
}

// InNamespace returns the policy as one of a namespace: d itself if it says a namespace that is not empty,
// else a copy that says this one. Its places are those of d.
func (d *Document) InNamespace(namespace string) *Document {
	metadata := LookupNode(d.root, "metadata")
	if namespace == "" || metadata == nil || metadata.Kind != yaml.MappingNode {
		return d
	}
	at := yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Line: metadata.Line, Column: metadata.Column}
	key, value := at, at
	key.Value, value.Value = "namespace", namespace
	with := *metadata
	with.Content = slices.Clone(metadata.Content)
	switch said := LookupNode(metadata, "namespace"); {
	case said == nil:
		with.Content = append(with.Content, &key, &value)
	case IsNull(said) || IsText(said) && said.Value == "":
		with.Content[slices.Index(with.Content, said)] = &value
	default:
		return d
	}
	root := *d.root
	root.Content = append([]*yaml.Node(nil), root.Content...)
	for i := range root.Content {
		if root.Content[i] == metadata {
			root.Content[i] = &with
		}
	}
	return &Document{src: d.src, root: &root}
}

// KeepOnly returns a copy of d with nothing but some parts, those that stand twice included. Its
// places are those of d.
func (d *Document) KeepOnly(kept Parts) *Document {
	return &Document{src: d.src, root: keepParts(d.root, kept)}
}

// Parts are fields of a mapping by their names, each with those parts of it that count; nil: all of it.
type Parts map[string]Parts

// keepParts returns a copy of n with nothing but some fields, those that stand twice
// included.
func keepParts(n *yaml.Node, of Parts) *yaml.Node {
	if of == nil || n.Kind != yaml.MappingNode {
		return n
	}
	out := *n
	out.Content = nil
	for i := 0; i+1 < len(n.Content); i += 2 {
		below, ok := of[n.Content[i].Value]
		if ok {
			out.Content = append(out.Content, n.Content[i], keepParts(n.Content[i+1], below))
		}
	}
	return &out
}
