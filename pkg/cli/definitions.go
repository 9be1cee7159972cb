package cli

import (
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/internal/schemas"
	"github.com/ambit-dev/ambit/pkg/permissions/rbac"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// definitions are what CustomResourceDefinitions in files say: which kinds have
// namespaces, and which fields their objects have.
type definitions struct {
	kinds   definedKinds
	schemas policy.Schemas
}

// crdsUsage is the help text of --crds where policies are compiled.
const crdsUsage = "File or folder with CustomResourceDefinitions, for the fields of their kinds and where they live; may be given several times"

// readDefinitions reads the files and folders of --crds, which may hold other objects
// too. Where --crds names something there has to be a definition in it.
func readDefinitions(crds []string, stdin io.Reader) (definitions, error) {
	kinds, found, err := readKinds(crds, stdin)
	if err != nil {
		return definitions{}, err
	}
	if len(crds) > 0 && len(found) == 0 {
		return definitions{}, usageErrorf("--crds: no CustomResourceDefinition in %s", joined(crds))
	}
	set, err := schemas.FromDefinitions(found...)
	if err != nil {
		return definitions{}, usageErrorf("--crds: %w", err)
	}
	return definitions{kinds: kinds, schemas: set}, nil
}

// readKinds reads the CustomResourceDefinitions in files and folders, which may hold other
// objects too, and what they say of kinds.
func readKinds(crds []string, stdin io.Reader) (definedKinds, []*unstructured.Unstructured, error) {
	files, err := readFiles(crds, stdin)
	if err != nil {
		return nil, nil, err
	}
	objects, err := readObjects(files)
	if err != nil {
		return nil, nil, err
	}
	kinds := definedKinds{}
	var found []*unstructured.Unstructured
	for _, object := range objects {
		if object.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}) {
			continue
		}
		defines, kind, err := rbac.FromDefinition(object)
		if err != nil {
			return nil, nil, usageErrorf("--crds: %w", err)
		}
		kinds[defines] = kind
		found = append(found, object)
	}
	return kinds, found, nil
}
