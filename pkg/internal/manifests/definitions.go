package manifests

import (
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ambit-dev/ambit/pkg/internal/schemas"
	"github.com/ambit-dev/ambit/pkg/permissions/rbac"
)

// Kinds are what CustomResourceDefinitions in files say of kinds. May be nil.
type Kinds map[schema.GroupKind]rbac.Kind

// IsNamespaced reports whether objects of a kind live in namespaces: as definitions in
// files say, else as it is for Kubernetes' own kinds and most others.
func (k Kinds) IsNamespaced(gvk schema.GroupVersionKind) bool {
	if kind, isDefined := k[gvk.GroupKind()]; isDefined {
		return kind.Namespaced
	}
	return rbac.GuessKind(gvk).Namespaced
}

// IsSurelyNamespaced is IsNamespaced without the guess for kinds of others.
func (k Kinds) IsSurelyNamespaced(gvk schema.GroupVersionKind) bool {
	_, isDefined := k[gvk.GroupKind()]
	return (isDefined || scheme.Scheme.Recognizes(gvk)) && k.IsNamespaced(gvk)
}

// ReadKinds returns what the CustomResourceDefinitions in the files and folders of --crds,
// which may hold other objects too, say of kinds.
func ReadKinds(crds []string, stdin io.Reader) (Kinds, error) {
	kinds, _, err := readDefinitions(crds, stdin)
	return kinds, err
}

// readKindsAndSchemas is ReadKinds with the fields that objects of the kinds have. Where crds
// name something there has to be a definition in it.
func readKindsAndSchemas(crds []string, stdin io.Reader) (Kinds, schemas.Set, error) {
	kinds, found, err := readDefinitions(crds, stdin)
	if err != nil {
		return nil, schemas.Set{}, err
	}
	if len(crds) > 0 && len(found) == 0 {
		return nil, schemas.Set{}, fmt.Errorf("--crds: no CustomResourceDefinition in %s", strings.Join(crds, ", "))
	}
	set, err := schemas.FromDefinitions(found...)
	if err != nil {
		return nil, schemas.Set{}, fmt.Errorf("--crds: %w", err)
	}
	return kinds, set, nil
}

func readDefinitions(crds []string, stdin io.Reader) (Kinds, []*unstructured.Unstructured, error) {
	objects, err := ReadObjects(crds, stdin)
	if err != nil {
		return nil, nil, err
	}
	kinds := Kinds{}
	var found []*unstructured.Unstructured
	for _, object := range objects {
		if object.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}) {
			continue
		}
		defined, kind, err := rbac.FromDefinition(object)
		if err != nil {
			return nil, nil, fmt.Errorf("--crds: %w", err)
		}
		kinds[defined] = kind
		found = append(found, object)
	}
	return kinds, found, nil
}
