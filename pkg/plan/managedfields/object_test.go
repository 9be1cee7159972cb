package managedfields

import (
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// objectOf reads YAML with whole numbers as int64, as the API machinery does.
func objectOf(t testing.TB, text string) *unstructured.Unstructured {
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

// withEntry is an object of version v1 with these managedFields entries.
func withEntry(t testing.TB, text string, entries ...string) *unstructured.Unstructured {
	t.Helper()
	u := objectOf(t, text)
	var list []any
	for _, entry := range entries {
		list = append(list, objectOf(t, entry).Object)
	}
	if err := unstructured.SetNestedSlice(u.Object, list, "metadata", "managedFields"); err != nil {
		t.Fatal(err)
	}
	u.SetAPIVersion("v1")
	return u
}
