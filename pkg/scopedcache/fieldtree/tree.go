// Package fieldtree keeps of objects the fields that somebody reads, of Go types as of maps.
package fieldtree

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// alwaysKept is what is kept of every object, beside the fields that are asked for.
func alwaysKept() []string {
	return []string{
		"apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.uid", "metadata.resourceVersion", "metadata.generation",
		"metadata.creationTimestamp", "metadata.deletionTimestamp", "metadata.labels", "metadata.ownerReferences", "metadata.finalizers",
	}
}

// Tree is what is kept of a value: the fields that it has, and of each what its tree says. An empty one keeps all. It
// is safe for concurrent use once it is made.
type Tree map[string]Tree

// New returns the tree of paths, which are JSON names with dots between them, and of what identifies an object.
func New(paths []string) Tree {
	tree := Tree{}
	for _, path := range slices.Concat(alwaysKept(), paths) {
		tree.addPath(strings.Split(path, "."))
	}
	return tree
}

// addPath keeps all below a path, also if another one asks for less.
func (t Tree) addPath(path []string) {
	below, ok := t[path[0]]
	switch {
	case len(path) == 1:
		t[path[0]] = Tree{}
	case !ok:
		below = Tree{}
		t[path[0]] = below
		below.addPath(path[1:])
	case len(below) > 0:
		below.addPath(path[1:])
	}
}

// CheckType returns an error if a type does not have all the fields. path is what the error calls it.
func (t Tree) CheckType(of reflect.Type, path string) error {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct {
		return nil
	}
	known := map[string]reflect.Type{}
	for i := range of.NumField() {
		field := of.Field(i)
		name, inline := jsonName(field)
		if inline {
			continue // apiVersion and kind
		}
		known[name] = field.Type
	}
	for name, below := range t {
		field, ok := known[name]
		switch {
		case name == "apiVersion" || name == "kind":
		case !ok:
			return fmt.Errorf("keeping fields: there is no %s.%s", path, name)
		case len(below) > 0:
			if err := below.CheckType(field, path+"."+name); err != nil {
				return err
			}
		}
	}
	return nil
}

func jsonName(field reflect.StructField) (name string, inline bool) {
	name, rest, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name, name == "" && (field.Anonymous || strings.Contains(rest, "inline"))
}

// PruneObject takes from an object, which the caller owns, the fields that are not kept. A metadata-only object keeps
// all, and so does what is no object.
func (t Tree) PruneObject(object any) {
	switch object := object.(type) {
	case *metav1.PartialObjectMetadata:
	case *unstructured.Unstructured:
		t.pruneMap(object.Object)
	case runtime.Object:
		t.pruneValue(reflect.ValueOf(object))
	}
}

func (t Tree) pruneMap(content map[string]any) {
	for name, value := range content {
		below, ok := t[name]
		switch {
		case !ok:
			delete(content, name)
		case len(below) > 0:
			below.pruneAny(value)
		}
	}
}

func (t Tree) pruneAny(value any) {
	switch value := value.(type) {
	case map[string]any:
		t.pruneMap(value)
	case []any:
		for _, element := range value {
			t.pruneAny(element)
		}
	}
}

// pruneValue is pruneMap for a Go type.
func (t Tree) pruneValue(value reflect.Value) {
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			t.pruneValue(value.Elem())
		}
	case reflect.Slice:
		for i := range value.Len() {
			t.pruneValue(value.Index(i))
		}
	case reflect.Map:
		for _, key := range value.MapKeys() {
			if _, ok := t[key.String()]; !ok {
				value.SetMapIndex(key, reflect.Value{})
			}
		}
	case reflect.Struct:
		t.pruneStruct(value)
	}
}

func (t Tree) pruneStruct(value reflect.Value) {
	for i := range value.NumField() {
		field := value.Field(i)
		name, inline := jsonName(value.Type().Field(i))
		below, ok := t[name]
		switch {
		case inline || !field.CanSet():
		case !ok:
			field.SetZero()
		case len(below) > 0:
			t[name].pruneValue(field)
		}
	}
}
