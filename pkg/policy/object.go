package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// FromObject is Parse for a policy that is an object of the API server: of its
// metadata only the name and the namespace count, its status does not. file is only a
// name, for messages. An object has no lines, so that the messages say the path of a
// field instead, as in `spec.children[0].when`. object is not kept and not changed.
//
// The error is Errors, also for one that is nested more than MaxDepth deep or has more than
// MaxValues values, or says that the object cannot be written as text.
func FromObject(file string, object map[string]any) (*Document, error) {
	if err := errTooDeep(file, object); err != nil {
		return nil, err
	}
	if err := errTooWide(file, object); err != nil {
		return nil, err
	}
	text, err := textOf(object)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	src := newSource(file, text)
	found := &findings{src: src}
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		return nil, fmt.Errorf("reading %s: it cannot be read as YAML: %w", file, err)
	}
	if len(n.Content) == 1 {
		src.root = n.Content[0]
	}
	root := policyRoot(&n, found)
	if err := found.err(); err != nil {
		return nil, err
	}
	return &Document{src: src, root: root}, nil
}

// textOf writes what counts of an object as JSON, which is YAML, a line for each
// field.
func textOf(object map[string]any) (string, error) {
	kept := map[string]any{}
	for _, field := range []string{"apiVersion", "kind", "spec"} {
		if value, ok := object[field]; ok {
			kept[field] = value
		}
	}
	if metadata, ok := object["metadata"].(map[string]any); ok {
		names := map[string]any{}
		for _, field := range []string{"name", "namespace"} {
			if value, ok := metadata[field]; ok {
				names[field] = value
			}
		}
		kept["metadata"] = names
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	err := encoder.Encode(kept)
	return out.String(), err
}

// pathAt returns the path of the innermost field or element that begins at an offset
// or before it and is not followed by another that does.
func (s *source) pathAt(offset int) string {
	var path strings.Builder
	n := s.root
	for n != nil {
		n = s.stepTo(n, offset, &path)
	}
	return path.String()
}

// stepTo goes into the part of n that an offset is in; nil if it is in none.
func (s *source) stepTo(n *yaml.Node, offset int, path *strings.Builder) *yaml.Node {
	step := 1
	if n.Kind == yaml.MappingNode {
		step = 2
	}
	at := -1
	for i := 0; i+step <= len(n.Content) && s.offset(n.Content[i]) <= offset; i += step {
		at = i
	}
	if at < 0 {
		return nil
	}
	if step == 1 {
		fmt.Fprintf(path, "[%d]", at)
		return n.Content[at]
	}
	if path.Len() > 0 {
		path.WriteByte('.')
	}
	path.WriteString(n.Content[at].Value)
	return n.Content[at+1]
}

// In returns the policy as one of a namespace: d itself if it says a namespace, else
// a copy that says this one. Its places are those of d.
func (d *Document) In(namespace string) *Document {
	metadata := lookup(d.root, "metadata")
	if namespace == "" || metadata == nil || metadata.Kind != yaml.MappingNode || lookup(metadata, "namespace") != nil {
		return d
	}
	at := yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Line: metadata.Line, Column: metadata.Column}
	key, value := at, at
	key.Value, value.Value = "namespace", namespace
	with := *metadata
	with.Content = append(with.Content[:len(with.Content):len(with.Content)], &key, &value)
	root := *d.root
	root.Content = append([]*yaml.Node(nil), root.Content...)
	for i := range root.Content {
		if root.Content[i] == metadata {
			root.Content[i] = &with
		}
	}
	return &Document{src: d.src, root: &root}
}
