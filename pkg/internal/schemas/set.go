// Package schemas says which fields the objects of a kind have, for the type check
// of expressions and of what is written to a status: see cel.Schema.
//
// A Set is made from CustomResourceDefinitions, or from an OpenAPI v3 document as
// an API server publishes one for each group and version. What a schema leaves
// open is open here: unknown fields that are preserved, integers or strings, free
// maps, objects without any property, and whatever is described only by
// alternatives. Other keywords are not looked at: they say which values are legal,
// not which fields there are.
//
// References are followed when a field is asked for, so that schemas may refer to
// themselves; of an OpenAPI document, which describes all kinds of a group, only what they lead to is
// decoded. There is no I/O.
package schemas

import (
	"fmt"
	"io"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/internal/jsonwalk"
)

// Set is schemas by kind. The zero one is empty. It is immutable and safe for
// concurrent use.
type Set struct {
	byKind map[schema.GroupVersionKind]func() *cel.Schema
}

// Schema returns the schema of a kind's objects; false if the set has none.
func (s Set) Schema(gvk schema.GroupVersionKind) (*cel.Schema, bool) {
	find, ok := s.byKind[gvk]
	if !ok {
		return nil, false
	}
	return find(), true
}

// JoinSets is the schemas of all sets; of those for one kind, that of the first set.
func JoinSets(sets ...Set) Set {
	joined := Set{byKind: map[schema.GroupVersionKind]func() *cel.Schema{}}
	for i := len(sets) - 1; i >= 0; i-- {
		maps.Copy(joined.byKind, sets[i].byKind)
	}
	return joined
}

// FromDefinitions reads the schemas of all versions of CustomResourceDefinitions
// (apiextensions.k8s.io/v1). A version without a schema is left out. The error is
// for an object that is no such definition. The definitions are not kept.
func FromDefinitions(definitions ...*unstructured.Unstructured) (Set, error) {
	set := Set{byKind: map[schema.GroupVersionKind]func() *cel.Schema{}}
	for _, d := range definitions {
		if err := set.addDefinition(d); err != nil {
			return Set{}, fmt.Errorf("reading the schemas of CustomResourceDefinition %q: %w", d.GetName(), err)
		}
	}
	return set, nil
}

func (s Set) addDefinition(d *unstructured.Unstructured) error {
	group, _, err := unstructured.NestedString(d.Object, "spec", "group")
	if err != nil {
		return err
	}
	kind, _, err := unstructured.NestedString(d.Object, "spec", "names", "kind")
	if err != nil {
		return err
	}
	versions, _, err := unstructured.NestedSlice(d.Object, "spec", "versions")
	if err != nil {
		return err
	}
	if group == "" || kind == "" || len(versions) == 0 {
		return fmt.Errorf("it has no spec.group, spec.names.kind or spec.versions")
	}
	for i, version := range versions {
		v, ok := version.(map[string]any)
		if !ok {
			return fmt.Errorf("spec.versions[%d] is no object", i)
		}
		name, _, _ := unstructured.NestedString(v, "name")
		root, found, err := unstructured.NestedMap(v, "schema", "openAPIV3Schema")
		if err != nil {
			return fmt.Errorf("version %q: %w", name, err)
		}
		if found {
			read := reader{}.readObjectSchema(root)
			s.byKind[schema.GroupVersionKind{Group: group, Version: name, Kind: kind}] = func() *cel.Schema { return read }
		}
	}
	return nil
}

// FromOpenAPI reads the schemas of kinds from an OpenAPI v3 document, in JSON. Of the document, most of which
// describes requests, the set keeps the text of schemas only.
func FromOpenAPI(document io.Reader) (Set, error) {
	components, err := readComponents(document)
	if err != nil {
		return Set{}, fmt.Errorf("reading an OpenAPI document: %w", err)
	}
	set := Set{byKind: map[schema.GroupVersionKind]func() *cel.Schema{}}
	r := reader{components: make(map[string]func() map[string]any, len(components))}
	for name, component := range components {
		decode := sync.OnceValue(func() map[string]any { return decodeObject(component) })
		r.components[name] = decode
		read := sync.OnceValue(func() *cel.Schema { return r.readObjectSchema(decode()) })
		for _, gvk := range kindsOf(component) {
			set.byKind[gvk] = read
		}
	}
	return set, nil
}

// decodeObject decodes an object; nil if the JSON is none.
func decodeObject(text []byte) map[string]any {
	object, _ := jsonwalk.New(text).ReadValue().(map[string]any)
	return object
}

// readField decodes a field of an object; nil if there is none.
func readField(object []byte, name string) any {
	w := jsonwalk.New(object)
	if w.NextKind() != '{' {
		return nil
	}
	w.EnterNested()
	for key, ok := w.NextKey(); ok; key, ok = w.NextKey() {
		if string(key) == name {
			return w.ReadValue()
		}
		w.SkipValue()
	}
	return nil
}

// kindsOf returns the kinds that a component says to be of.
func kindsOf(component []byte) []schema.GroupVersionKind {
	listed, _ := readField(component, "x-kubernetes-group-version-kind").([]any)
	var kinds []schema.GroupVersionKind
	for _, entry := range listed {
		named, _ := entry.(map[string]any)
		group, _ := named["group"].(string)
		version, _ := named["version"].(string)
		kind, _ := named["kind"].(string)
		if kind != "" && version != "" {
			kinds = append(kinds, schema.GroupVersionKind{Group: group, Version: version, Kind: kind})
		}
	}
	return kinds
}
