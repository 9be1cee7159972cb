package manifests

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// ReadObjects returns every object in the files and folders names, in order.
func ReadObjects(names []string, stdin io.Reader) ([]*unstructured.Unstructured, error) {
	files, err := readFiles(names, reading{stdin: stdin, most: maxObjects})
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, f := range files {
		found, err := f.decodeObjects()
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

// ReadObject returns the one object in a file; what says in a message what it is.
func ReadObject(path, what string, stdin io.Reader) (*unstructured.Unstructured, error) {
	f, err := reading{stdin: stdin, most: maxObjects}.readFile(path)
	if err != nil {
		return nil, err
	}
	objects, err := f.decodeObjects()
	if err != nil {
		return nil, err
	}
	if len(objects) != 1 {
		return nil, fmt.Errorf("%s holds %d objects, must be one: %s", f.name, len(objects), what)
	}
	return objects[0], nil
}

// decodeObjects decodes every object in the file, in order; lists, as kubectl prints them, are
// taken apart. What is nested deeper than syntax.MaxDepth is refused.
func (f file) decodeObjects() ([]*unstructured.Unstructured, error) {
	if err := syntax.CheckDepth(f.name, f.data); err != nil {
		return nil, err
	}
	objects, err := decodeObjects(f.data)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", f.name, err)
	}
	return objects, nil
}

// decodeObjects decodes the YAML or JSON documents in data.
func decodeObjects(data []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for number := 1; ; number++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		found, err := decodeDocument(document)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", number, err)
		}
		objects = append(objects, found...)
	}
}

// decodeDocument returns the objects of one document: none if it is empty, many
// if it is a list.
func decodeDocument(document []byte) ([]*unstructured.Unstructured, error) {
	data, err := yaml.YAMLToJSON(document)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		return nil, nil
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(data); err != nil {
		return nil, err
	}
	if !object.IsList() {
		return []*unstructured.Unstructured{object}, nil
	}
	var objects []*unstructured.Unstructured
	err = object.EachListItem(func(item runtime.Object) error {
		objects = append(objects, item.(*unstructured.Unstructured))
		return nil
	})
	return objects, err
}
