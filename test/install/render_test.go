package install

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// kustomize renders a folder of manifests/.
func kustomize(t *testing.T, overlay string) []byte {
	t.Helper()
	return []byte(must(t)(kubectl(t, nil, nil, "kustomize", overlay)))
}

// objects returns the objects in YAML documents.
func objects(t *testing.T, data []byte) []*unstructured.Unstructured {
	t.Helper()
	var found []*unstructured.Unstructured
	for documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if len(object.Object) > 0 {
			found = append(found, object)
		}
	}
}

// only returns the objects of a kind as a typed list; it fails if there is none.
func only[T any](t *testing.T, all []*unstructured.Unstructured, kind string) []T {
	t.Helper()
	var found []T
	for _, object := range all {
		if object.GetKind() != kind {
			continue
		}
		var typed T
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &typed, true); err != nil {
			t.Fatalf("%s %q: %v", kind, object.GetName(), err)
		}
		found = append(found, typed)
	}
	if len(found) == 0 {
		t.Fatalf("there is no %s", kind)
	}
	return found
}
