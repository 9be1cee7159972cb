package scopedcache

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// alwaysKept is what is kept of every object, beside the fields that are asked for.
func alwaysKept() []string {
	return []string{
		"apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.uid", "metadata.resourceVersion", "metadata.generation",
		"metadata.creationTimestamp", "metadata.deletionTimestamp", "metadata.labels", "metadata.ownerReferences", "metadata.finalizers",
	}
}

// Fields are paths of JSON names, such as "spec.replicas" or "spec.template.spec.containers.image": all below a path
// is kept. A path goes through lists, into each element, and through maps by their keys.
func Fields(paths ...string) []string { return paths }

// fieldTree is what is kept of a value: the fields that it has, and of each what its tree says. An empty one keeps all.
type fieldTree map[string]fieldTree

func newFieldTree(paths []string) fieldTree {
	tree := fieldTree{}
	for _, path := range slices.Concat(alwaysKept(), paths) {
		tree.add(strings.Split(path, "."))
	}
	return tree
}

// add keeps all below a path, also if another one asks for less.
func (t fieldTree) add(path []string) {
	below, ok := t[path[0]]
	switch {
	case len(path) == 1:
		t[path[0]] = fieldTree{}
	case !ok:
		below = fieldTree{}
		t[path[0]] = below
		below.add(path[1:])
	case len(below) > 0:
		below.add(path[1:])
	}
}

// setFields reads Options.Fields. A field that a Go type does not have is an error.
func (s *settings) setFields(fields map[client.Object][]string) error {
	s.fields = make(map[schema.GroupVersionKind]fieldTree, len(fields))
	for object, paths := range fields {
		gvk, err := apiutil.GVKForObject(object, s.scheme)
		if err != nil {
			return fmt.Errorf("failed to get GVK for type %T: %w", object, err)
		}
		s.fields[gvk] = newFieldTree(paths)
		if _, isMap := object.(runtime.Unstructured); isMap {
			continue
		}
		if err := s.fields[gvk].check(reflect.TypeOf(object), gvk.Kind); err != nil {
			return err
		}
	}
	return nil
}

// check returns an error if a type does not have all the fields.
func (t fieldTree) check(of reflect.Type, path string) error {
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
			if err := below.check(field, path+"."+name); err != nil {
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

// prune returns an object, which the caller owns, without the fields that are not kept. A metadata-only object keeps
// all.
func (t fieldTree) prune(object any) any {
	switch object := object.(type) {
	case *unstructured.Unstructured:
		t.pruneMap(object.Object)
	case client.Object:
		if flavorOf(object) == typed {
			t.pruneValue(reflect.ValueOf(object))
		}
	}
	return object
}

func (t fieldTree) pruneMap(content map[string]any) {
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

func (t fieldTree) pruneAny(value any) {
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
func (t fieldTree) pruneValue(value reflect.Value) {
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

func (t fieldTree) pruneStruct(value reflect.Value) {
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
