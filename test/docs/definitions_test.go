package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// TestDefinitions: `kubectl explain` says something about each field.
func TestDefinitions(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(root, "manifests/crd/*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	fields := 0
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(data, &definition); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if definition.Kind != "CustomResourceDefinition" {
			continue
		}
		for _, version := range definition.Spec.Versions {
			described(t, definition.Spec.Names.Kind, version.Schema.OpenAPIV3Schema, &fields)
		}
	}
	if fields < 50 {
		t.Errorf("found only %d fields in %d files", fields, len(paths))
	}
}

// described complains about each field below a schema that has no description, and
// counts the fields. That of metadata is the API server's.
func described(t *testing.T, path string, schema *apiextensionsv1.JSONSchemaProps, fields *int) {
	t.Helper()
	for name, field := range schema.Properties {
		*fields++
		below := path + "." + name
		standard := name == "metadata" && strings.Count(below, ".") == 1
		if strings.TrimSpace(field.Description) == "" && !standard {
			t.Errorf("field %s has no description", below)
		}
		described(t, below, &field, fields)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		described(t, path+"[]", schema.Items.Schema, fields)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		described(t, path+"{}", schema.AdditionalProperties.Schema, fields)
	}
}
