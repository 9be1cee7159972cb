package schemas

import (
	"strings"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
)

// reader makes schemas of JSON schemas. It is not changed after it is made.
type reader struct {
	components map[string]func() map[string]any // what references lead to; nil: none
}

// maxReferences is how many references may lead from one to the next: more of
// them are a circle.
const maxReferences = 16

const reference = "#/components/schemas/"

// readObjectSchema is the schema of a whole object, or of one embedded in another: its
// apiVersion, kind and metadata are there though its schema may not name them.
func (r reader) readObjectSchema(node map[string]any) *cel.Schema {
	node = r.resolveReferences(node)
	if isOpen(node) {
		return nil
	}
	fields := r.readFields(node)
	for _, name := range []string{"apiVersion", "kind"} {
		if _, named := fields[name]; !named {
			fields[name] = anySchema
		}
	}
	metadata, _ := node["properties"].(map[string]any)["metadata"].(map[string]any)
	fields["metadata"] = func() *cel.Schema { return r.objectMeta(metadata) }
	return cel.ObjectOf(fields)
}

// readSchema is what a JSON schema says of fields; nil: nothing.
func (r reader) readSchema(node map[string]any) *cel.Schema {
	node = r.resolveReferences(node)
	if items, ok := node["items"].(map[string]any); ok {
		return cel.LazyListOf(func() *cel.Schema { return r.readSchema(items) })
	}
	_, hasFields := node["properties"].(map[string]any)
	if values, ok := node["additionalProperties"].(map[string]any); ok && !hasFields && !preservesUnknownFields(node) {
		return cel.LazyMapOf(func() *cel.Schema { return r.readSchema(values) })
	}
	switch {
	case isOpen(node):
		return nil
	case node["x-kubernetes-embedded-resource"] == true:
		return r.readObjectSchema(node)
	}
	return cel.ObjectOf(r.readFields(node))
}

func (r reader) readFields(node map[string]any) map[string]func() *cel.Schema {
	properties, _ := node["properties"].(map[string]any)
	fields := make(map[string]func() *cel.Schema, len(properties)+3)
	for name, property := range properties {
		below, _ := property.(map[string]any)
		fields[name] = func() *cel.Schema { return r.readSchema(below) }
	}
	return fields
}

// resolveReferences follows references; also those that stand alone in allOf, as API servers
// write them where there is a default beside. What leads nowhere is empty.
func (r reader) resolveReferences(node map[string]any) map[string]any {
	for range maxReferences {
		if all, ok := node["allOf"].([]any); ok && len(all) == 1 && node["properties"] == nil {
			node, _ = all[0].(map[string]any)
			continue
		}
		to, ok := node["$ref"].(string)
		if !ok {
			return node
		}
		component, ok := r.components[strings.TrimPrefix(to, reference)]
		if !ok {
			return nil
		}
		node = component()
	}
	return nil
}

// isOpen says whether an object may have fields that its schema does not name, or
// is none.
func isOpen(node map[string]any) bool {
	properties, _ := node["properties"].(map[string]any)
	kind, typed := node["type"].(string)
	return len(properties) == 0 || typed && kind != "object" || preservesUnknownFields(node) || hasAlternatives(node) ||
		node["x-kubernetes-int-or-string"] == true || node["additionalProperties"] != nil && node["additionalProperties"] != false
}

func preservesUnknownFields(node map[string]any) bool {
	return node["x-kubernetes-preserve-unknown-fields"] == true
}

// hasAlternatives says whether other fields may be named in a part of the schema.
func hasAlternatives(node map[string]any) bool {
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		parts, _ := node[key].([]any)
		for _, part := range parts {
			below, _ := part.(map[string]any)
			if namesOthers(node, below) {
				return true
			}
		}
	}
	return false
}

// namesOthers says whether a part of a schema has fields that the whole has not. In
// that of a custom resource it cannot.
func namesOthers(whole, part map[string]any) bool {
	if part["$ref"] != nil || hasAlternatives(part) {
		return true
	}
	named, _ := whole["properties"].(map[string]any)
	below, _ := part["properties"].(map[string]any)
	for name := range below {
		if _, ok := named[name]; !ok {
			return true
		}
	}
	return false
}

func anySchema() *cel.Schema { return nil }

func stringMap() *cel.Schema { return cel.LazyMapOf(anySchema) }

// objectMeta is the schema of metadata: what all objects have there, and what the
// schema names beside; that of a custom resource may name only what it restricts.
func (r reader) objectMeta(node map[string]any) *cel.Schema {
	fields := r.readFields(r.resolveReferences(node))
	fields["labels"], fields["annotations"] = stringMap, stringMap
	fields["ownerReferences"] = func() *cel.Schema { return cel.LazyListOf(ownerReference) }
	fields["managedFields"] = func() *cel.Schema { return cel.LazyListOf(anySchema) }
	for _, name := range []string{
		"name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation",
		"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "finalizers",
	} {
		fields[name] = anySchema
	}
	return cel.ObjectOf(fields)
}

func ownerReference() *cel.Schema {
	fields := map[string]func() *cel.Schema{}
	for _, name := range []string{"apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"} {
		fields[name] = anySchema
	}
	return cel.ObjectOf(fields)
}
