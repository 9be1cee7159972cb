package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// decode returns the objects of a file, in their order.
func decode(data []byte) ([]*unstructured.Unstructured, error) {
	var found []*unstructured.Unstructured
	for documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			found = append(found, object)
		}
	}
}

// named returns the object of a kind and a name as a typed one, and whether there is one.
func named[T any](all []*unstructured.Unstructured, kind, name string) (found T, has bool, err error) {
	for _, object := range all {
		if object.GetKind() == kind && object.GetName() == name {
			err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &found, true)
			return found, true, err
		}
	}
	return found, false, nil
}
