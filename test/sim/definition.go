package sim

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	schemaobjectmeta "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// definitions is the resource of CustomResourceDefinitions.
var definitions = schema.GroupResource{Group: apiextensionsv1.GroupName, Resource: "customresourcedefinitions"}

const definitionKind = "CustomResourceDefinition"

// cleanupFinalizer holds a definition until its objects are gone.
const cleanupFinalizer = apiextensionsv1.CustomResourceCleanupFinalizer

// definitionDecoder is the decoder of CustomResourceDefinitions.
type definitionDecoder struct{}

func (definitionDecoder) empty() *unstructured.Unstructured {
	obj := emptyObject(apiextensionsv1.SchemeGroupVersion.WithKind(definitionKind))
	_, _ = throughType(obj, &apiextensionsv1.CustomResourceDefinition{}) // it has nothing that could be wrong
	return obj
}

func (definitionDecoder) decode(obj *unstructured.Unstructured) ([]string, error) {
	typed := &apiextensionsv1.CustomResourceDefinition{}
	unknown, err := throughType(obj, typed)
	if err != nil {
		return nil, err
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&typed.Spec)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	obj.Object = content
	return unknown, err
}

func (definitionDecoder) validate(obj, _ *unstructured.Unstructured, _ bool) field.ErrorList {
	crd := definitionOf(obj)
	if want := crd.Spec.Names.Plural + "." + crd.Spec.Group; crd.Name != want {
		return field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), crd.Name, "must be spec.names.plural+\".\"+spec.group")}
	}
	return nil
}

func definitionOf(obj *unstructured.Unstructured) *apiextensionsv1.CustomResourceDefinition {
	typed := &apiextensionsv1.CustomResourceDefinition{}
	mustConvert(obj, typed)
	return typed
}

// serveLocked serves what a definition says now, and no longer what it said.
func (s *Server) serveLocked(old, new *unstructured.Unstructured) {
	s.mappings = nil
	if new == nil {
		crd := definitionOf(old)
		s.unserveLocked(schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural})
		return
	}
	if old == nil {
		s.establishLocked(new)
		return
	}
	crd := definitionOf(new)
	r := s.resources[schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}]
	if r == nil || r.definition != crd.Name {
		return
	}
	r.terminating = crd.DeletionTimestamp != nil
	if new.GetGeneration() != old.GetGeneration() && !r.terminating {
		if err := r.define(crd); err != nil {
			panic(fmt.Sprintf("sim: %v", err))
		}
		r.history, r.compacted, r.redefined = nil, s.version, true // the storage is made anew
		for _, w := range sortedWatchers(r.watchers) {
			w.endLocked()
		}
	}
}

func (s *Server) unserveLocked(gr schema.GroupResource) {
	r := s.resources[gr]
	if r == nil || r.definition == "" {
		return
	}
	delete(s.resources, gr)
	s.sorted = nil
	for _, w := range sortedWatchers(r.watchers) {
		w.endLocked()
	}
}

// establishLocked does what the controllers of definitions do: the finalizer, the names
// and the conditions.
func (s *Server) establishLocked(stored *unstructured.Unstructured) {
	crd := definitionOf(stored)
	gr := schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}
	if s.resources[gr] != nil {
		return // the names are taken
	}
	r := newResource(crd.Spec.Group, crd.Spec.Names.Plural, crd.Spec.Names.Kind, crd.Spec.Scope == apiextensionsv1.NamespaceScoped)
	r.definition, r.compacted = crd.Name, s.version // a new storage knows nothing of what was before
	if err := r.define(crd); err != nil {
		panic(fmt.Sprintf("sim: %v", err))
	}
	s.resources[gr], s.sorted = r, nil
	status := map[string]any{"storedVersions": []any{r.stored.gvk.Version}}
	status["acceptedNames"] = runtime.DeepCopyJSONValue(stored.Object["spec"].(map[string]any)["names"])
	status["conditions"] = []any{
		condition("NamesAccepted", "NoConflicts", "no conflicts found"),
		condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
	}
	crds := s.resources[definitions]
	c := s.internalLocked(crds, stored, "patch")
	c.Subresource = "status"
	s.mustAlter(c, "kube-apiserver", func(next *unstructured.Unstructured) { next.Object["status"] = status })
}

// terminate says in a definition's status that it goes.
func terminate(obj *unstructured.Unstructured) {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	setNested(obj.Object, append(conditions, condition("Terminating", "InstanceDeletionPending",
		"CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon")), "status", "conditions")
}

// mustAlter writes what the server's own controllers write.
func (s *Server) mustAlter(c *call, manager string, change func(*unstructured.Unstructured)) {
	if err := c.alter(manager, change); err != nil {
		panic(fmt.Sprintf("sim: writing %s %s: %v", c.Resource.Resource, c.Name, err)) // a mistake in this package
	}
}

func condition(name, reason, message string) map[string]any {
	return map[string]any{
		"type": name, "status": "True", "reason": reason, "message": message,
		"lastTransitionTime": now().Format(time.RFC3339),
	}
}

// resetDefinition gives a new definition its first status.
func resetDefinition(obj map[string]any) {
	stored := []any{}
	versions, _, _ := unstructured.NestedSlice(obj, "spec", "versions")
	for _, v := range versions {
		if v, ok := v.(map[string]any); ok && v["storage"] == true {
			stored = append(stored, v["name"])
		}
	}
	obj["status"] = map[string]any{
		"acceptedNames": map[string]any{"kind": "", "plural": ""}, "conditions": nil, "storedVersions": stored,
	}
}

// define makes the versions of a definition.
func (r *resource) define(crd *apiextensionsv1.CustomResourceDefinition) error {
	schemas := map[string]*structuralschema.Structural{}
	var served []*version
	var stored *version
	for i := range crd.Spec.Versions {
		spec := &crd.Spec.Versions[i]
		d, err := newCustomDecoder(crd, spec)
		if err != nil {
			return fmt.Errorf("reading the schema of %s in %s: %w", crd.Name, spec.Name, err)
		}
		schemas[spec.Name] = d.structural
		v := &version{
			gvk:     schema.GroupVersionKind{Group: r.group, Version: spec.Name, Kind: r.kind},
			decoder: d,
			status:  spec.Subresources != nil && spec.Subresources.Status != nil,
		}
		if spec.Storage {
			stored = v
		}
		if spec.Served {
			served = append(served, v)
		}
	}
	hub := stored.gvk.GroupVersion()
	for _, v := range append(served, stored) {
		v.manage(func() managedfields.TypeConverter { return customConverter(r, schemas) }, hub)
	}
	r.versions, r.stored = sortVersions(served), stored
	return nil
}

// customDecoder is the decoder of a definition's objects in one version.
type customDecoder struct {
	gvk               schema.GroupVersionKind
	structural        *structuralschema.Structural
	preserve          bool
	validator, status apiservervalidation.SchemaValidator
}

func newCustomDecoder(crd *apiextensionsv1.CustomResourceDefinition, v *apiextensionsv1.CustomResourceDefinitionVersion) (customDecoder, error) {
	d := customDecoder{
		gvk:      schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind},
		preserve: crd.Spec.PreserveUnknownFields,
	}
	props := &apiextensions.JSONSchemaProps{Type: "object"}
	if v.Schema != nil && v.Schema.OpenAPIV3Schema != nil {
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, props, nil); err != nil {
			return d, err
		}
	}
	structural, err := structuralschema.NewStructural(props)
	if err != nil {
		return d, err
	}
	d.structural = structural.DeepCopy()
	if err := defaulting.PruneDefaults(d.structural); err != nil {
		return d, err
	}
	if d.validator, _, err = apiservervalidation.NewSchemaValidator(props); err != nil {
		return d, err
	}
	if status, ok := props.Properties["status"]; ok {
		d.status, _, err = apiservervalidation.NewSchemaValidator(&status)
	}
	return d, err
}

func (d customDecoder) empty() *unstructured.Unstructured { return emptyObject(d.gvk) }

func (d customDecoder) decode(obj *unstructured.Unstructured) ([]string, error) {
	metadata, found, unknown, err := schemaobjectmeta.GetObjectMetaWithOptions(obj.Object, schemaobjectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return nil, err
	}
	apiVersion, kind := obj.GetAPIVersion(), obj.GetKind()
	if !d.preserve {
		paths := pruning.PruneWithOptions(obj.Object, d.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
		unknown = append(unknown, paths...)
		defaulting.PruneNonNullableNullsWithoutDefaults(obj.Object, d.structural)
	}
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	if found {
		if err := schemaobjectmeta.SetObjectMeta(obj.Object, metadata); err != nil {
			return nil, err
		}
	}
	defaulting.Default(obj.Object, d.structural)
	for i, path := range unknown {
		unknown[i] = fmt.Sprintf("unknown field %q", path)
	}
	return unknown, nil
}

func (d customDecoder) validate(obj, old *unstructured.Unstructured, status bool) field.ErrorList {
	var errs field.ErrorList
	switch {
	case status:
		if value, ok := obj.Object["status"]; ok && d.status != nil {
			errs = apiservervalidation.ValidateCustomResource(field.NewPath("status"), value, d.status)
		}
	default:
		errs = apiservervalidation.ValidateCustomResource(nil, obj.Object, d.validator)
	}
	lists := listtype.ValidateListSetsAndMaps(nil, d.structural, obj.Object)
	if len(lists) > 0 && (old == nil || len(listtype.ValidateListSetsAndMaps(nil, d.structural, old.Object)) == 0) {
		errs = append(errs, lists...)
	}
	return append(errs, schemaobjectmeta.Validate(context.Background(), nil, obj.Object, d.structural, false)...)
}
