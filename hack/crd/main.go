// Program crd adds to the CustomResourceDefinition that controller-gen has written
// what no marker can say: that templates, which may hold any field, have an
// apiVersion, a kind and a name. `make generate` runs it:
//
//	crd FILE
package main

import (
	"fmt"
	"os"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: crd FILE")
		os.Exit(2)
	}
	if err := rewrite(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func rewrite(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if data, err = complete(data); err != nil {
		return fmt.Errorf("completing %q: %w", path, err)
	}
	return os.WriteFile(path, data, 0o644)
}

// complete returns the definition with the schema of templates in it. It may be
// repeated.
func complete(data []byte) ([]byte, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(data, &crd); err != nil {
		return nil, err
	}
	found := 0
	for i := range crd.Spec.Versions {
		spec := crd.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties["spec"]
		found += templates(spec, "children") + templates(spec, "ensure")
	}
	if found != 2*len(crd.Spec.Versions) {
		return nil, fmt.Errorf("there are %d templates in %d versions, want 2 in each", found, len(crd.Spec.Versions))
	}
	return marshal(&crd)
}

// templates completes the templates of a list, and returns how many there are. The
// schemas that a map holds by value are put back.
func templates(spec apiextensionsv1.JSONSchemaProps, list string) int {
	items := spec.Properties[list].Items
	if items == nil || items.Schema == nil {
		return 0
	}
	template, has := items.Schema.Properties["template"]
	if !has {
		return 0
	}
	items.Schema.Properties["template"] = withObject(template)
	return 1
}

// marshal leaves out what only the API server writes.
func marshal(crd *apiextensionsv1.CustomResourceDefinition) ([]byte, error) {
	data, err := yaml.Marshal(crd)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	if err := yaml.Unmarshal(data, &object); err != nil {
		return nil, err
	}
	delete(object, "status")
	if metadata, is := object["metadata"].(map[string]any); is {
		delete(metadata, "creationTimestamp")
	}
	data, err = yaml.Marshal(object)
	return append([]byte("---\n"), data...), err
}
