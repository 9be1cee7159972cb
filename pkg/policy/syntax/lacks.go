package syntax

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// LacksSomeOf reports whether something that stands in before does not stand in d any more: a
// field, an item of a list, or the end of a text. So it is with an edit that drops a child,
// and with a text of which only the first part has been written yet. Values that differ are
// no such thing.
func (d *Document) LacksSomeOf(before *Document) bool { return lacksNode(d.root, before.root) }

func lacksNode(now, before *yaml.Node) bool {
	switch before.Kind {
	case yaml.MappingNode:
		if now.Kind != yaml.MappingNode {
			return true
		}
		lost := false
		EachPair(before, func(key, value *yaml.Node) {
			found := LookupNode(now, key.Value)
			lost = lost || found == nil || lacksNode(found, value)
		})
		return lost
	case yaml.SequenceNode:
		return now.Kind != yaml.SequenceNode || lacksItems(now.Content, before.Content)
	case yaml.ScalarNode:
		return now.Kind == yaml.ScalarNode && len(now.Value) < len(before.Value) && strings.HasPrefix(before.Value, now.Value)
	}
	return false
}

// lacksItems compares items of the same name, and those without one by their position.
func lacksItems(now, before []*yaml.Node) bool {
	if len(now) < len(before) {
		return true
	}
	named := map[string]*yaml.Node{}
	for _, item := range now {
		named[itemName(item)] = item
	}
	for i, item := range before {
		found := now[i]
		if name := itemName(item); name != "" {
			found = named[name]
		}
		if found == nil || lacksNode(found, item) {
			return true
		}
	}
	return false
}

// itemName is what the items of a policy's lists are told apart by; empty if there is nothing.
func itemName(n *yaml.Node) string {
	for _, field := range []string{"id", "name", "type"} {
		if name := LookupNode(n, field); n.Kind == yaml.MappingNode && name != nil && IsText(name) {
			return name.Value
		}
	}
	return ""
}
