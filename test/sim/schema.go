package sim

import (
	"encoding/json"
	"fmt"
	"slices"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// objectMetaModel is the schema of metadata, as far as server-side apply looks at it:
// what is a map, a set and an atom.
const objectMetaModel = `{
  "type": "object",
  "properties": {
    "name": {"type": "string"}, "generateName": {"type": "string"}, "namespace": {"type": "string"},
    "uid": {"type": "string"}, "resourceVersion": {"type": "string"}, "selfLink": {"type": "string"},
    "generation": {"type": "integer", "format": "int64"},
    "creationTimestamp": {"type": "string"}, "deletionTimestamp": {"type": "string"},
    "deletionGracePeriodSeconds": {"type": "integer", "format": "int64"},
    "labels": {"type": "object", "additionalProperties": {"type": "string", "default": ""}},
    "annotations": {"type": "object", "additionalProperties": {"type": "string", "default": ""}},
    "finalizers": {"type": "array", "items": {"type": "string", "default": ""}, "x-kubernetes-list-type": "set"},
    "managedFields": {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}, "x-kubernetes-list-type": "atomic"},
    "ownerReferences": {
      "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
      "items": {"$ref": "#/components/schemas/OwnerReference"}
    }
  }
}`

const ownerReferenceModel = `{
  "type": "object", "required": ["apiVersion", "kind", "name", "uid"], "x-kubernetes-map-type": "atomic",
  "properties": {
    "apiVersion": {"type": "string", "default": ""}, "kind": {"type": "string", "default": ""},
    "name": {"type": "string", "default": ""}, "uid": {"type": "string", "default": ""},
    "blockOwnerDeletion": {"type": "boolean"}, "controller": {"type": "boolean"}
  }
}`

// definitionModel is the schema of CustomResourceDefinitions.
const definitionModel = `{
  "type": "object",
  "x-kubernetes-group-version-kind": [{"group": "apiextensions.k8s.io", "version": "v1", "kind": "CustomResourceDefinition"}],
  "properties": {
    "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"$ref": "#/components/schemas/ObjectMeta"},
    "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    "status": {
      "type": "object", "x-kubernetes-preserve-unknown-fields": true,
      "properties": {"conditions": {
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
        "items": {"type": "object", "properties": {"type": {"type": "string"}}, "x-kubernetes-preserve-unknown-fields": true}
      }}
    }
  }
}`

// definitionConverter knows the schema of definitions, as server-side apply needs it.
func definitionConverter() managedfields.TypeConverter {
	return mustConverter(definitionKind, map[string]*spec.Schema{definitionKind: model(definitionModel)})
}

func model(text string) *spec.Schema {
	made := &spec.Schema{}
	if err := json.Unmarshal([]byte(text), made); err != nil {
		panic(fmt.Sprintf("sim: reading a schema: %v", err)) // a mistake in this file
	}
	return made
}

// customConverter knows the schemas of a definition's versions, as server-side apply
// needs them.
func customConverter(r *resource, schemas map[string]*structuralschema.Structural) managedfields.TypeConverter {
	models := map[string]*spec.Schema{}
	for version, structural := range schemas {
		made := structural.ToKubeOpenAPI()
		if made.Properties == nil {
			made.Properties = map[string]spec.Schema{}
		}
		made.Properties["apiVersion"], made.Properties["kind"] = *spec.StringProperty(), *spec.StringProperty()
		made.Properties["metadata"] = *spec.RefSchema("#/components/schemas/ObjectMeta")
		made.AddExtension("x-kubernetes-group-version-kind", []any{map[string]any{"group": r.group, "version": version, "kind": r.kind}})
		models[r.kind+"."+version] = made
	}
	return mustConverter(r.plural, models)
}

// mustConverter makes a converter of models that refer to metadata.
func mustConverter(what string, models map[string]*spec.Schema) managedfields.TypeConverter {
	models["ObjectMeta"], models["OwnerReference"] = model(objectMetaModel), model(ownerReferenceModel)
	made, err := managedfields.NewTypeConverter(models, false)
	if err != nil {
		panic(fmt.Sprintf("sim: reading the schemas of %s: %v", what, err)) // they were accepted before
	}
	return made
}

// sortVersions puts the preferred version first.
func sortVersions(all []*version) []*version {
	slices.SortStableFunc(all, func(a, b *version) int {
		return utilversion.CompareKubeAwareVersionStrings(b.gvk.Version, a.gvk.Version)
	})
	return all
}
