package main

import (
	"k8s.io/utils/ptr"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Forms of names. What is a literal holds no `${...}`, and so matches them.
const (
	label     = `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
	version   = `^(` + label + `(\.` + label + `)*/)?[a-z]([-a-z0-9]*[a-z0-9])?$`
	kindWord  = `^[A-Z][A-Za-z0-9]*$`
	mostGroup = 317
	mostKind  = 63
)

// withObject adds what every object has to the schema of a template; all else stays
// as it is written.
func withObject(template apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	template.Required = []string{"apiVersion", "kind", "metadata"}
	template.Properties = map[string]apiextensionsv1.JSONSchemaProps{
		"apiVersion": {
			Description: "apiVersion is the group and version of the object, literal, as in `apps/v1`.",
			Type:        "string", MinLength: ptr.To[int64](1), MaxLength: ptr.To[int64](mostGroup), Pattern: version,
		},
		"kind": {
			Description: "kind is the kind of the object, literal.",
			Type:        "string", MinLength: ptr.To[int64](1), MaxLength: ptr.To[int64](mostKind), Pattern: kindWord,
		},
		"metadata": {
			Description: "metadata is that of the object.",
			Type:        "object", XPreserveUnknownFields: ptr.To(true), Required: []string{"name"},
			Properties: map[string]apiextensionsv1.JSONSchemaProps{
				"name": {Description: "name of the object; it may hold `${...}`.", Type: "string", MinLength: ptr.To[int64](1)},
			},
		},
	}
	return template
}
