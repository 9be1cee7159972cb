package scopedcache

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/ambit-dev/ambit/pkg/scopedcache/fieldtree"
)

// Fields are paths of JSON names, such as "spec.replicas" or "spec.template.spec.containers.image": all below a path
// is kept. A path goes through lists, into each element, and through maps by their keys.
func Fields(paths ...string) []string { return paths }

// setFields reads Options.Fields. A field that a Go type does not have is an error.
func (s *settings) setFields(fields map[client.Object][]string) error {
	s.fields = make(map[schema.GroupVersionKind]fieldtree.Tree, len(fields))
	for object, paths := range fields {
		gvk, err := apiutil.GVKForObject(object, s.scheme)
		if err != nil {
			return fmt.Errorf("failed to get GVK for type %T: %w", object, err)
		}
		s.fields[gvk] = fieldtree.New(paths)
		if _, isMap := object.(runtime.Unstructured); isMap {
			continue
		}
		if err := s.fields[gvk].Check(reflect.TypeOf(object), gvk.Kind); err != nil {
			return err
		}
	}
	return nil
}
