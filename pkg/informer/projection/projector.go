package projection

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ambit-dev/ambit/pkg/internal/fields"
)

// projector reduces objects to what an informer keeps of them. It is immutable.
type projector struct {
	fields           *fields.Set
	manager          string
	apiVersion, kind string // of metadata-only informers
}

// identifying are the fields that are always kept. Nobody changes it.
var identifying = sync.OnceValue(func() *fields.Set {
	return fields.New("apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.uid",
		"metadata.resourceVersion", "metadata.deletionTimestamp", "metadata.labels")
})

func newProjector(c Config) projector {
	return projector{
		fields:     identifying().Union(c.Fields),
		manager:    c.Manager,
		apiVersion: c.APIVersion,
		kind:       c.Kind,
	}
}

// projectDelivered projects what a client's informer or list delivered. The input is not used
// for anything else after that.
func (p projector) projectDelivered(obj any) (*unstructured.Unstructured, error) {
	switch obj := obj.(type) {
	case *unstructured.Unstructured:
		return p.projectObject(obj), nil
	case *metav1.PartialObjectMetadata:
		return p.projectMetadata(obj)
	}
	return nil, fmt.Errorf("projecting an object: unexpected type %T", obj)
}

// projectObject returns a new object that shares values with obj, which is not changed.
func (p projector) projectObject(obj *unstructured.Unstructured) *unstructured.Unstructured {
	content := p.fields.Project(obj.Object)
	kept := p.keptEntries(obj)
	metadata, ok := content["metadata"].(map[string]any)
	if !ok {
		return &unstructured.Unstructured{Object: content}
	}
	if _, has := metadata["managedFields"]; !has && kept == nil {
		return &unstructured.Unstructured{Object: content}
	}
	if p.fields.Has("metadata") { // shared with obj as a whole
		content, metadata = maps.Clone(content), maps.Clone(metadata)
		content["metadata"] = metadata
	}
	delete(metadata, "managedFields")
	if kept != nil {
		metadata["managedFields"] = kept
	}
	return &unstructured.Unstructured{Object: content}
}

// keepsManager reports whether the managedFields entries of a manager are kept: of ours, and
// of those below it, as v1alpha1.MergeManager makes them.
func (p projector) keepsManager(manager string) bool {
	below, ok := strings.CutPrefix(manager, p.manager)
	return ok && p.manager != "" && (below == "" || below[0] == '/')
}

// keptEntries returns the managedFields entries that are kept, nil if there is none.
func (p projector) keptEntries(obj *unstructured.Unstructured) []any {
	if p.manager == "" {
		return nil
	}
	metadata, _ := obj.Object["metadata"].(map[string]any)
	all, _ := metadata["managedFields"].([]any)
	var kept []any
	for _, entry := range all {
		fields, _ := entry.(map[string]any)
		if manager, _ := fields["manager"].(string); p.keepsManager(manager) {
			kept = append(kept, entry)
		}
	}
	return kept
}

// projectMetadata projects an object of a metadata-only informer, which it owns.
func (p projector) projectMetadata(obj *metav1.PartialObjectMetadata) (*unstructured.Unstructured, error) {
	obj.ManagedFields = slices.DeleteFunc(obj.ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
		return !p.keepsManager(e.Manager)
	})
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("converting the metadata of %q: %w", obj.Name, err)
	}
	if p.kind != "" {
		content["apiVersion"], content["kind"] = p.apiVersion, p.kind
	}
	return p.projectObject(&unstructured.Unstructured{Object: content}), nil
}
