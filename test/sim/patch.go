package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

// patch handles a PATCH.
func (c *call) patch(kind types.PatchType, data []byte, force bool, i intent) (*unstructured.Unstructured, error) {
	switch kind {
	case types.ApplyPatchType:
		return c.apply(data, force, i)
	case types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType:
	default:
		return nil, errMediaType(string(kind))
	}
	if kind == types.StrategicMergePatchType && c.resource.definition != "" {
		return nil, errMediaType("application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml")
	}
	if !json.Valid(data) {
		return nil, apierrors.NewBadRequest("invalid JSON patch")
	}
	return c.write(c.Name, "", false, i, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		obj, err := c.patched(live, kind, data, i.strict)
		if err != nil {
			return nil, err
		}
		obj = c.manage(live, obj, i.manager)
		return obj, c.checkName(obj)
	})
}

func errMediaType(supported string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnsupportedMediaType, Reason: metav1.StatusReasonUnsupportedMediaType,
		Message: "the body of the request was in an unknown format - accepted media types include: " + supported,
	}}
}

// patched is the live object after a patch that is not an apply. It shares with it what the patch
// does not touch, below metadata.
func (c *call) patched(live *unstructured.Unstructured, kind types.PatchType, data []byte, strict bool) (*unstructured.Unstructured, error) {
	part, rest, changes := c.touched(live, kind, data)
	obj := &unstructured.Unstructured{Object: part}
	var err error
	if changes != nil {
		merge(part, changes)
	} else {
		var after []byte
		if after, err = c.patchObject(part, kind, data); err != nil {
			return nil, err
		}
		obj, err = c.unmarshalObject(after)
	}
	if err == nil {
		err = c.decodeStrictly(obj, strict)
	}
	if err != nil {
		whole, _ := c.patchObject(live.Object, kind, data) // as it was patched in parts
		if _, quoting := c.unmarshalObject(whole); quoting != nil {
			err = quoting
		}
		return nil, apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), string(whole), err.Error())})
	}
	maps.Copy(obj.Object, rest) // it was decoded when it was stored
	if metadata, ok := rest["metadata"].(map[string]any); ok {
		obj.Object["metadata"] = maps.Clone(metadata)
	}
	return obj, nil
}

// unmarshalObject reads an object. A built-in one that does not say its kind is of the one asked for.
func (c *call) unmarshalObject(data []byte) (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{}
	if c.resource.definition != "" {
		return obj, obj.UnmarshalJSON(data)
	}
	err := utiljson.Unmarshal(data, &obj.Object)
	if err == nil && (obj.GetKind() == "" || obj.GetAPIVersion() == "") {
		obj.SetGroupVersionKind(c.served.gvk)
	}
	return obj, err
}

// touched splits an object for a merge patch: part is a copy of the fields that the patch may
// change, and of the kind, without which nothing is decoded; rest are the others; changes are
// the patch, which merge applies. If the patch is another one, is no object, or is about the
// kind, or if the others may not be decoded without each other, all of the object is part,
// uncopied, and changes are nil.
func (c *call) touched(live *unstructured.Unstructured, kind types.PatchType, data []byte) (part, rest, changes map[string]any) {
	if kind != types.JSONPatchType && !bytes.Contains(data, []byte("managedFields")) {
		live = withoutManaged(live) // those that there are stay
	}
	if kind != types.MergePatchType || c.resource.redefined || utiljson.Unmarshal(data, &changes) != nil || changes == nil {
		return live.Object, nil, nil
	}
	for field := range changes {
		if field == "kind" || field == "apiVersion" || c.resource.definition == "" && field != "metadata" && field != "status" {
			return live.Object, nil, nil
		}
	}
	part, rest = map[string]any{}, map[string]any{}
	for field, value := range live.Object {
		if _, changed := changes[field]; changed || field == "kind" || field == "apiVersion" {
			part[field] = sent(value)
		} else {
			rest[field] = value
		}
	}
	return part, rest, changes
}

// merge applies a merge patch to an object, as the API server's library does to their texts.
// It owns both.
func merge(obj, changes map[string]any) {
	for field, value := range changes {
		into, isMap := obj[field].(map[string]any)
		with, isPatch := value.(map[string]any)
		switch {
		case value == nil:
			delete(obj, field)
		case isMap && isPatch:
			merge(into, with)
		case isMap:
			obj[field] = value
		default:
			dropNulls(value)
			obj[field] = value
		}
	}
}

// dropNulls removes the fields that are null, in elements of lists as well.
func dropNulls(value any) {
	switch v := value.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(_ string, inner any) bool { return inner == nil })
		for _, inner := range v {
			dropNulls(inner)
		}
	case []any:
		for _, inner := range v {
			dropNulls(inner)
		}
	}
}

// patchObject is the text of an object, or of a part of it, after a patch.
func (c *call) patchObject(obj map[string]any, kind types.PatchType, data []byte) ([]byte, error) {
	before, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	switch kind {
	case types.JSONPatchType:
		patch, err := jsonpatch.DecodePatch(data)
		if err != nil {
			return nil, apierrors.NewBadRequest("error decoding patch: " + strings.Replace(err.Error(), "jsonpatch.Patch", "[]handlers.jsonPatchOp", 1))
		}
		after, err := patch.Apply(before)
		if err != nil {
			return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
		}
		return after, nil
	case types.StrategicMergePatchType:
		typed, err := scheme.Scheme.New(c.served.gvk)
		if err != nil {
			return nil, err
		}
		return strategicpatch.StrategicMergePatch(before, data, typed)
	}
	after, err := jsonpatch.MergePatch(before, data)
	if errors.Is(err, jsonpatch.ErrBadJSONPatch) {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return after, err
}

// checkName refuses a body with another name than the path.
func (c *call) checkName(obj *unstructured.Unstructured) error {
	switch got := obj.GetName(); {
	case got == c.Name:
		return nil
	case got == "":
		obj.SetName(c.Name)
		return nil
	default:
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", got, c.Name))
	}
}

// apply handles a server-side apply.
func (c *call) apply(data []byte, force bool, i intent) (*unstructured.Unstructured, error) {
	if i.manager == "" {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "PatchOptions"}, "", field.ErrorList{
			field.Required(field.NewPath("fieldManager"), "is required for apply patch")})
	}
	wanted := &unstructured.Unstructured{Object: map[string]any{}}
	if utiljson.Unmarshal(data, &wanted.Object) != nil { // YAML takes ten times as long
		if err := yaml.Unmarshal(data, &wanted.Object); err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
		}
	}
	return c.write(c.Name, "", c.Subresource == "", i, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if live == nil {
			return c.appliedNew(wanted, force, i)
		}
		return c.applied(live, wanted, force, i)
	})
}

// appliedNew is what an apply makes of nothing.
func (c *call) appliedNew(wanted *unstructured.Unstructured, force bool, i intent) (*unstructured.Unstructured, error) {
	obj, err := c.applied(c.served.decoder.empty(), wanted, force, i)
	if err != nil {
		return nil, err
	}
	if obj.GetUID() != "" {
		return nil, apierrors.NewConflict(c.gr(), c.Name, fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", obj.GetUID()))
	}
	if err := c.permitCreate(); err != nil {
		return nil, err
	}
	if err := c.admitNamespace(c.Name); err != nil {
		return nil, err
	}
	obj.SetResourceVersion("") // it is no precondition for an object that is not there
	return obj, nil
}

// applied is what an apply makes of an object.
func (c *call) applied(live, wanted *unstructured.Unstructured, force bool, i intent) (*unstructured.Unstructured, error) {
	made, err := c.served.fieldManager(c.Subresource).Apply(live, wanted.DeepCopy(), i.manager, force)
	if err != nil {
		var status apierrors.APIStatus
		if errors.As(err, &status) {
			return nil, err
		}
		return nil, errPlain(err.Error())
	}
	obj := made.(*unstructured.Unstructured)
	if _, err := c.served.decoder.decode(obj); err != nil {
		return nil, errPlain(err.Error())
	}
	if err := c.matchNamespace(obj); err != nil {
		return nil, err
	}
	return obj, c.checkName(obj)
}
