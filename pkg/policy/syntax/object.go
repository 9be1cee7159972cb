package syntax

import (
	"bytes"
	"encoding/json"
	"fmt"

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
	found := &Diagnostics{src: src}
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		return nil, fmt.Errorf("reading %s: it cannot be read as YAML: %w", file, err)
	}
	if len(n.Content) == 1 {
		src.root = n.Content[0]
	}
	root := policyRoot(&n, found)
	if err := found.Err(); err != nil {
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
