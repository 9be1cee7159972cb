package objectsource

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
	"github.com/ambit-dev/ambit/pkg/permitted"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
)

// objectKind is how objects of one kind are read and written.
type objectKind struct {
	kind     manifest.Kind
	resource schema.GroupVersionResource
	name     string // for people
	selector string // of labels
	kept     *fields.Set
	// manifests returns the manifests of an object, without CannotSetFinalizer.
	manifests func(*unstructured.Unstructured) []manifest.Manifest
	// hasFinalizer: objects carry a finalizer while they are run.
	hasFinalizer bool
	// subresource is where the status is written; empty: on the object itself.
	subresource string
}

func customResourceKind() objectKind {
	return objectKind{
		kind: manifest.CustomResource, name: "custom resources",
		resource:     v1alpha1.GroupVersion.WithResource(v1alpha1.Resource),
		kept:         fields.New("spec", "status", "metadata.generation", "metadata.creationTimestamp", "metadata.finalizers"),
		manifests:    manifest.FromCustomResource,
		hasFinalizer: true, subresource: "status",
	}
}

func configMapKind() objectKind {
	kept := fields.New("data", "metadata.creationTimestamp")
	kept.Add("metadata", "annotations", v1alpha1.AnnotationStatus)
	return objectKind{
		kind: manifest.ConfigMap, name: "ConfigMaps",
		resource:  schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		selector:  v1alpha1.PolicySourceSelector,
		kept:      kept,
		manifests: manifest.FromConfigMap,
	}
}

func (k objectKind) originOf(object *unstructured.Unstructured) manifest.Origin {
	return manifest.Origin{Kind: k.kind, Namespace: object.GetNamespace(), Name: object.GetName()}
}

// watchQuery returns what is watched to read objects.
func (k objectKind) watchQuery() permitted.Query {
	return permitted.Query{Resources: []schema.GroupVersionResource{k.resource}, LabelSelector: k.selector, Fields: k.kept}
}

// writeAccesses returns what it takes to write on objects.
func (k objectKind) writeAccesses() []access.Access {
	list := []access.Access{k.accessFor("patch", "")}
	if k.subresource != "" {
		list = append(list, k.accessFor("patch", k.subresource))
	}
	return list
}

func (k objectKind) accessFor(verb, subresource string) access.Access {
	return access.Access{Verb: verb, Group: k.resource.Group, Resource: k.resource.Resource, Subresource: subresource}
}
