package ssadiff

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
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

// managedBy is an object with an entry of the manager `us`.
func managedBy(t testing.TB, text, fields string) *unstructured.Unstructured {
	t.Helper()
	return withEntry(t, text, "{manager: us, operation: Update, apiVersion: v1, fieldsV1: "+fields+"}")
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
