package sim

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// intent is how a write is to be done: what create, update and patch options share.
type intent struct {
	manager string
	strict  bool // unknown fields are refused
	dry     bool
}

func intentOf(manager, validation string, dryRun []string) intent {
	return intent{manager: manager, strict: validation == metav1.FieldValidationStrict, dry: len(dryRun) > 0}
}

// create handles a POST. It owns obj.
func (c *call) create(obj *unstructured.Unstructured, i intent) (*unstructured.Unstructured, error) {
	if err := c.decode(obj, i.strict); err != nil {
		return nil, err
	}
	for _, system := range []string{"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"} {
		delete(metadataOf(obj), system)
	}
	if err := c.admitNamespace(obj.GetName()); err != nil {
		return nil, err
	}
	if err := c.matchNamespace(obj); err != nil {
		return nil, err
	}
	return c.storeNew(c.manage(c.served.decoder.empty(), obj, i.manager), i)
}

// decode makes obj what the server makes of a body.
func (c *call) decode(obj *unstructured.Unstructured, strict bool) error {
	gvk, got := c.served.gvk, obj.GroupVersionKind()
	custom := c.resource.definition != ""
	switch {
	case got.GroupVersion() != gvk.GroupVersion():
		return apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)", got.GroupVersion(), gvk.GroupVersion()))
	case got.Kind != gvk.Kind && custom:
		return apierrors.NewInvalid(got.GroupKind(), obj.GetName(), field.ErrorList{
			field.Invalid(field.NewPath("kind"), got.Kind, "must be "+gvk.Kind)})
	case got.Kind != gvk.Kind:
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: converting (%s.%s) to (%s.%s): unknown conversion",
			got.Kind, gvk.Version, gvk.Kind, got.Version, got.Kind, internalName(gvk.Group), gvk.Kind))
	}
	if err := c.decodeStrictly(obj, strict); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", gvk.Kind, gvk.Version, gvk.Kind, err))
	}
	return nil
}

// decodeStrictly refuses fields that nobody knows if strict says so, and else drops them.
func (c *call) decodeStrictly(obj *unstructured.Unstructured, strict bool) error {
	unknown, err := c.served.decoder.decode(obj)
	if err == nil && strict && len(unknown) > 0 {
		err = strictError(unknown)
	}
	return err
}

// internalName is what the API server calls the Go package of a group's kinds.
func internalName(group string) string {
	name, _, _ := strings.Cut(group, ".")
	if name == "" {
		return "core"
	}
	return name
}

func strictError(unknown []string) error {
	return errors.New("strict decoding error: " + strings.Join(unknown, ", "))
}

// matchNamespace sets the namespace of the request, and refuses another one.
func (c *call) matchNamespace(obj *unstructured.Unstructured) error {
	switch {
	case !c.resource.namespaced:
		obj.SetNamespace("")
	case obj.GetNamespace() == "":
		obj.SetNamespace(c.Namespace)
	case obj.GetNamespace() != c.Namespace:
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

// storeNew checks and stores an object that was not there. It owns obj.
func (c *call) storeNew(obj *unstructured.Unstructured, i intent) (*unstructured.Unstructured, error) {
	obj, err := c.admit(obj, nil)
	if err != nil {
		return nil, err
	}
	metadata := metadataOf(obj)
	for _, system := range []string{"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"} {
		delete(metadata, system)
	}
	generated := obj.GetName() == "" && obj.GetGenerateName() != ""
	if generated {
		obj.SetName(c.newNameLocked(obj.GetGenerateName()))
	}
	obj.SetCreationTimestamp(now())
	obj.SetUID(c.newUIDLocked())
	c.prepareNew(obj)
	if errs := c.validate(obj, nil); len(errs) > 0 {
		return nil, apierrors.NewInvalid(c.served.gvk.GroupKind(), obj.GetName(), errs)
	}
	if c.resource.terminating {
		return nil, apierrors.NewForbidden(c.gr(), c.Name, errors.New("create not allowed while custom resource definition is terminating"))
	}
	if err := c.admitRights(obj); err != nil {
		return nil, err
	}
	if version, err := versionOf(obj); err != nil || version != 0 {
		return nil, errPlain("resourceVersion should not be set on objects to be created")
	}
	if live := c.live(obj.GetName()); live != nil {
		return nil, c.alreadyThere(live, generated)
	}
	if i.dry {
		return c.answer(obj), nil
	}
	return c.answer(c.commitLocked(c.resource, nil, inVersion(obj, c.resource.stored.gvk))), nil
}

func (c *call) alreadyThere(live *unstructured.Unstructured, generated bool) error {
	err := apierrors.NewAlreadyExists(c.gr(), live.GetName())
	if generated {
		err = apierrors.NewGenerateNameConflict(c.gr(), live.GetName(), 1)
	}
	if live.GetDeletionTimestamp() != nil {
		err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
	}
	return err
}

// errPlain is how an error looks that the API server has no code for.
func errPlain(text string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: http.StatusInternalServerError, Message: text,
	}}
}

// prepareNew removes the status that a create must not set, and counts the generation.
func (c *call) prepareNew(obj *unstructured.Unstructured) {
	if c.resource.definition != "" {
		if c.served.status {
			delete(obj.Object, "status")
		}
		obj.SetGeneration(1)
		return
	}
	c.prepareBuiltin(obj.Object)
	if c.resource.traits.counted {
		obj.SetGeneration(1)
	}
}

// metadataOf is the object's metadata, made if there is none.
func metadataOf(obj *unstructured.Unstructured) map[string]any {
	metadata, ok := obj.Object["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		obj.Object["metadata"] = metadata
	}
	return metadata
}

// transform makes of the object that is there, or of nil, what it is to be. It does not
// change its argument, and gives the result away.
type transform func(live *unstructured.Unstructured) (*unstructured.Unstructured, error)

// write changes an object: what PUT and PATCH share. uid is a precondition if it is not
// empty. With upsert the object is made if it is not there.
func (c *call) write(name string, uid types.UID, upsert bool, i intent, make transform) (*unstructured.Unstructured, error) {
	live := c.live(name)
	if live == nil && !upsert {
		return nil, c.notFound(name)
	}
	if live != nil && uid != "" && uid != live.GetUID() {
		return nil, c.failedPrecondition(name, "UID", string(uid), string(live.GetUID()))
	}
	if live == nil {
		obj, err := make(nil)
		if err != nil {
			return nil, err
		}
		return c.storeNew(obj, i)
	}
	before := inVersion(live, c.served.gvk)
	obj, err := make(before)
	if err != nil {
		return nil, err
	}
	if obj, err = c.admit(obj, before); err != nil {
		return nil, err
	}
	if err := c.checkVersion(name, obj, live); err != nil {
		return nil, err
	}
	return c.replace(obj, live, before, i)
}

// failedPrecondition is the 409 of the storage.
func (c *call) failedPrecondition(name, what, wanted, got string) error {
	return apierrors.NewConflict(c.gr(), name, fmt.Errorf(
		"StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: %s in precondition: %s, %s in object meta: %s",
		c.storageKey(name), what, wanted, what, got))
}

// checkVersion compares the resourceVersion that an object is written with.
func (c *call) checkVersion(name string, obj, live *unstructured.Unstructured) error {
	version, err := versionOf(obj)
	if err != nil {
		return errPlain(err.Error())
	}
	current, _ := versionOf(live) // we wrote it
	switch {
	case version == current || version == 0 && c.resource.traits.unconditional:
		return nil
	case version == 0:
		kind := schema.GroupKind{Group: c.Resource.Group, Kind: c.Resource.Resource}
		return apierrors.NewInvalid(kind, name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update")})
	}
	return apierrors.NewConflict(c.gr(), name, errors.New("the object has been modified; please apply your changes to the latest version and try again"))
}

// replace checks and stores an object that is there: live is it as stored, before in
// the version of obj.
func (c *call) replace(obj, live, before *unstructured.Unstructured, i intent) (*unstructured.Unstructured, error) {
	obj.SetResourceVersion(live.GetResourceVersion())
	if err := c.matchNamespace(obj); err != nil {
		return nil, err
	}
	c.prepare(obj, before)
	if errs := c.validate(obj, before); len(errs) > 0 {
		return nil, apierrors.NewInvalid(c.served.gvk.GroupKind(), obj.GetName(), errs)
	}
	if err := c.admitRights(obj); err != nil {
		return nil, err
	}
	switch {
	case isUnchanged(obj, before):
		return c.answer(live), nil
	case i.dry:
		return c.answer(obj), nil
	case isReleased(obj, before):
		c.commitLocked(c.resource, live, nil)
		return c.answer(obj), nil
	}
	return c.answer(c.commitLocked(c.resource, live, inVersion(obj, c.resource.stored.gvk))), nil
}

// isReleased reports whether a write takes the last finalizer off an object that is
// being deleted.
func isReleased(obj, before *unstructured.Unstructured) bool {
	seconds := before.GetDeletionGracePeriodSeconds()
	return before.GetDeletionTimestamp() != nil && len(obj.GetFinalizers()) == 0 && (seconds == nil || *seconds == 0) && !holdsContent(obj)
}

// prepare keeps what a write must not change, and counts the generation.
func (c *call) prepare(obj, before *unstructured.Unstructured) {
	managed := metadataOf(obj)["managedFields"]
	if c.Subresource == "status" {
		status, ok := obj.Object["status"]
		obj.Object = maps.Clone(before.Object)
		obj.Object["metadata"] = maps.Clone(metadataOf(before))
		set(obj.Object, "status", status, ok)
		set(metadataOf(obj), "managedFields", managed, managed != nil)
	} else if c.served.status {
		status, ok := before.Object["status"]
		set(obj.Object, "status", status, ok)
	}
	metadata, old := metadataOf(obj), metadataOf(before)
	generation, ok := old["generation"]
	set(metadata, "generation", generation, ok)
	for _, kept := range []string{"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"} {
		if value, ok := old[kept]; ok {
			metadata[kept] = value
		}
	}
	if obj.GetUID() == "" {
		obj.SetUID(before.GetUID())
	}
	if c.Subresource == "" && c.isNewGeneration(obj, before) {
		obj.SetGeneration(before.GetGeneration() + 1)
	}
}

// set puts a value into a map or removes it.
func set(into map[string]any, key string, value any, there bool) {
	if there {
		into[key] = value
		return
	}
	delete(into, key)
}

func (c *call) isNewGeneration(obj, before *unstructured.Unstructured) bool {
	if c.resource.definition != "" {
		return !isEqualBut(obj.Object, before.Object, "metadata")
	}
	t := c.resource.traits
	return t.counted && !equality.Semantic.DeepEqual(obj.Object["spec"], before.Object["spec"]) ||
		t.annotated && !equality.Semantic.DeepEqual(obj.GetAnnotations(), before.GetAnnotations())
}

// isEqualBut compares two maps but for some keys.
func isEqualBut(a, b map[string]any, but ...string) bool {
	for _, pair := range [][2]map[string]any{{a, b}, {b, a}} {
		for key, value := range pair[0] {
			if other, ok := pair[1][key]; !slices.Contains(but, key) && (!ok || !isEqual(value, other)) {
				return false
			}
		}
	}
	return true
}

// isEqual compares JSON-like values. It is quick where they share maps.
func isEqual(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		if reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer() {
			return true
		}
		for key, value := range a {
			if other, ok := b[key]; !ok || !isEqual(value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, isEqual)
	case nil, string, bool, int64, float64:
		return a == b
	}
	return equality.Semantic.DeepEqual(a, b)
}

// isUnchanged reports whether a write would store what is there. The times in
// managedFields are no change by themselves: obj then keeps those that it had.
func isUnchanged(obj, before *unstructured.Unstructured) bool {
	if !isEqualBut(obj.Object, before.Object, "metadata") {
		return false
	}
	metadata, old := metadataOf(obj), metadataOf(before)
	if !isEqualBut(metadata, old, "managedFields") {
		return false
	}
	managed, _ := metadata["managedFields"].([]any)
	was, _ := old["managedFields"].([]any)
	return slices.EqualFunc(managed, was, func(a, b any) bool {
		one, _ := a.(map[string]any)
		other, _ := b.(map[string]any)
		return isEqualBut(one, other, "time")
	})
}

// update handles a PUT. It owns obj.
func (c *call) update(obj *unstructured.Unstructured, i intent) (*unstructured.Unstructured, error) {
	if live := c.live(c.Name); live != nil && isEqual(metadataOf(obj)["managedFields"], metadataOf(live)["managedFields"]) {
		delete(metadataOf(obj), "managedFields") // which means those that there are
	}
	if err := c.decode(obj, i.strict); err != nil {
		return nil, err
	}
	if err := c.matchNamespace(obj); err != nil {
		return nil, err
	}
	return c.write(c.Name, obj.GetUID(), c.resource.traits.upserts, i, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if live == nil {
			live = c.served.decoder.empty()
			obj.SetResourceVersion("")
			if err := cmp.Or(c.permitCreate(), c.admitNamespace(c.Name)); err != nil {
				return nil, err
			}
		}
		return c.manage(live, obj, i.manager), nil
	})
}
