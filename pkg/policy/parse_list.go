package policy

import (
	"slices"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// isList says whether n is a list of objects: what kubectl prints of several, or the
// API server of all.
func isList(n *yaml.Node) bool {
	gvk, _ := literalKind(n)
	return gvk == schema.GroupVersionKind{Version: "v1", Kind: "List"} || gvk == v1alpha1.GroupVersion.WithKind(v1alpha1.Kind+"List")
}

// listItems returns the policies in a list, and says of the other items why they are
// none.
func listItems(list *yaml.Node, found *findings) []*yaml.Node {
	lintKeys(list, found)
	known := []string{"apiVersion", "kind", "metadata", "items"}
	pairs(list, func(key, _ *yaml.Node) {
		if !slices.Contains(known, key.Value) {
			found.at(key, "unknown field %q in the list%s", key.Value, suggest(key.Value, known))
		}
	})
	items := lookup(list, "items")
	switch {
	case items == nil:
		found.at(list, "items is required in a list")
		return nil
	case isNull(items):
		return nil
	case items.Kind != yaml.SequenceNode:
		found.at(items, "items must be a list, is %s", describe(items))
		return nil
	}
	var out []*yaml.Node
	for i, item := range items.Content {
		if isPolicy(item, join("items", i), found) {
			out = append(out, item)
		}
	}
	return out
}

// authored returns a policy without what an API server has added to it, if one has: a
// uid is given by nobody else.
func authored(root *yaml.Node) *yaml.Node {
	if lookup(root, "metadata", "uid") == nil {
		return root
	}
	kept := part{}
	pairs(root, func(key, _ *yaml.Node) { kept[key.Value] = nil })
	delete(kept, "status")
	kept["metadata"] = part{"name": nil, "namespace": nil}
	return only(root, kept)
}
