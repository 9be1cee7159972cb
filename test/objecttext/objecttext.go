// Package objecttext reads the objects of tests from YAML.
package objecttext

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// ReadObject reads YAML with whole numbers as int64, as the API machinery does. It fails the test if that is not a
// mapping.
func ReadObject(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	encoded, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("reading %q: %v", text, err)
	}
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(encoded, &u.Object); err != nil {
		t.Fatalf("reading %q: %v", text, err)
	}
	return u
}

// ReadManaged reads an object, and gives it version v1 and these entries of managedFields.
func ReadManaged(t testing.TB, text string, entries ...string) *unstructured.Unstructured {
	t.Helper()
	u := ReadObject(t, text)
	var list []any
	for _, entry := range entries {
		list = append(list, ReadObject(t, entry).Object)
	}
	if err := unstructured.SetNestedSlice(u.Object, list, "metadata", "managedFields"); err != nil {
		t.Fatal(err)
	}
	u.SetAPIVersion("v1")
	return u
}
