// Package objectread answers Get and List from stored objects, as controller-runtime's cache does, by its indexes of fields.
package objectread

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var errExact = errors.New("non-exact field matches are not supported by the cache")

// CopyInto writes a stored object of a kind to out; as a copy, unless it is shared.
func CopyInto(out client.Object, stored any, gvk schema.GroupVersionKind, shared bool) error {
	object, ok := stored.(runtime.Object)
	if !ok {
		return fmt.Errorf("cache contained %T, which is not an Object", stored)
	}
	if !shared {
		object = object.DeepCopyObject()
	}
	to, from := reflect.ValueOf(out), reflect.ValueOf(object)
	if !from.Type().AssignableTo(to.Type()) {
		return fmt.Errorf("cache had type %s, but %s was asked for", from.Type(), to.Type())
	}
	reflect.Indirect(to).Set(reflect.Indirect(from))
	if !shared {
		out.GetObjectKind().SetGroupVersionKind(gvk)
	}
	return nil
}

// ListObjects returns the objects of a list, as copies unless they are shared. have is how many there are already: a limit
// is for all of them.
func ListObjects(indexer toolscache.Indexer, given client.ListOptions, gvk schema.GroupVersionKind, have int, shared bool) ([]runtime.Object, error) {
	found, err := selectObjects(indexer, given)
	if err != nil {
		return nil, err
	}
	objects := make([]runtime.Object, 0, len(found))
	for _, item := range found {
		if given.Limit > 0 && int64(have+len(objects)) >= given.Limit {
			break
		}
		object, ok := item.(client.Object)
		if !ok {
			return nil, fmt.Errorf("cache contained %T, which is not an Object", item)
		}
		if given.LabelSelector != nil && !given.LabelSelector.Matches(labels.Set(object.GetLabels())) {
			continue
		}
		if shared {
			objects = append(objects, object)
			continue
		}
		copied := object.DeepCopyObject()
		copied.GetObjectKind().SetGroupVersionKind(gvk)
		objects = append(objects, copied)
	}
	return objects, nil
}

// selectObjects returns the objects of a namespace, or of the values of fields that have an index.
func selectObjects(indexer toolscache.Indexer, given client.ListOptions) ([]any, error) {
	switch {
	case given.FieldSelector != nil:
		if !isExact(given.FieldSelector) {
			return nil, errExact
		}
		return selectFields(indexer, given.FieldSelector.Requirements(), given.Namespace)
	case given.Namespace != "":
		return indexer.ByIndex(toolscache.NamespaceIndex, given.Namespace)
	}
	return indexer.List(), nil
}

func isExact(selector fields.Selector) bool {
	terms := selector.Requirements()
	for _, term := range terms {
		if term.Operator != selection.Equals && term.Operator != selection.DoubleEquals {
			return false
		}
	}
	return len(terms) > 0
}

// selectFields looks the first field up, and compares the others.
func selectFields(indexer toolscache.Indexer, terms fields.Requirements, namespace string) ([]any, error) {
	found, err := indexer.ByIndex(FieldIndex(terms[0].Field), indexValue(namespace, terms[0].Value))
	if err != nil {
		return nil, err
	}
	indexers := indexer.GetIndexers()
	for _, term := range terms[1:] {
		if len(found) == 0 {
			break
		}
		valuesOf, ok := indexers[FieldIndex(term.Field)]
		if !ok {
			return nil, fmt.Errorf("index with name %s does not exist", FieldIndex(term.Field))
		}
		var selected []any
		for _, object := range found {
			values, err := valuesOf(object)
			if err != nil {
				return nil, err
			}
			if slices.Contains(values, indexValue(namespace, term.Value)) {
				selected = append(selected, object)
			}
		}
		found = selected
	}
	return found, nil
}

// FieldIndex is the name of the index of a field, and indexValue what an object with a value has there. They are as
// in controller-runtime, for those who add such an index by AddIndexers.
func FieldIndex(field string) string { return "field:" + field }

func indexValue(namespace, value string) string {
	if namespace == "" {
		namespace = "__all_namespaces"
	}
	return namespace + "/" + value
}

// NewFieldIndex returns the index of a field: each value is there in the object's namespace, and in all.
func NewFieldIndex(valuesOf client.IndexerFunc) toolscache.IndexFunc {
	return func(item any) ([]string, error) {
		object, ok := item.(client.Object)
		if !ok {
			return nil, fmt.Errorf("object of type %T is not an Object", item)
		}
		values := valuesOf(object)
		indexed := make([]string, 0, 2*len(values))
		for _, value := range values {
			indexed = append(indexed, indexValue(object.GetNamespace(), value))
			if object.GetNamespace() != "" {
				indexed = append(indexed, indexValue("", value))
			}
		}
		return indexed, nil
	}
}
