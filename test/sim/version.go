package sim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// version is a resource in one API version. It never changes, but for the field
// managers, which are made when first needed.
type version struct {
	gvk     schema.GroupVersionKind
	status  bool // there is a status subresource
	decoder decoder
	// object and statuses keep managedFields, as the API server's own handlers do.
	object, statuses func() *managedfields.FieldManager
}

// decoder knows what objects of a kind look like.
type decoder interface {
	// empty is an object of which nothing is set; the caller owns it.
	empty() *unstructured.Unstructured
	// decode makes obj what the API server makes of what it is sent: unknown fields go,
	// defaults are filled in. It returns the paths of the unknown fields.
	decode(obj *unstructured.Unstructured) (unknown []string, err error)
	// validate returns what is wrong with an object; old is nil for a new one.
	validate(obj, old *unstructured.Unstructured, status bool) field.ErrorList
}

// manage prepares the field managers. hub is the version that objects are stored in.
func (v *version) manage(converter func() managedfields.TypeConverter, hub schema.GroupVersion) {
	of := func(subresource string, reset ...string) func() *managedfields.FieldManager {
		return sync.OnceValue(func() *managedfields.FieldManager {
			fields := fieldpath.NewSet()
			for _, name := range reset {
				fields.Insert(fieldpath.MakePathOrDie(name))
			}
			api := fieldpath.APIVersion(v.gvk.GroupVersion().String())
			filter := fieldpath.NewExcludeFilterSetMap(map[fieldpath.APIVersion]*fieldpath.Set{api: fields})
			made, err := managedfields.NewDefaultCRDFieldManager(converter(), versions{}, versions{}, versions{v.decoder}, v.gvk, hub, subresource, filter)
			if err != nil {
				panic(fmt.Sprintf("sim: making the field manager of %s: %v", v.gvk, err)) // a mistake in this package
			}
			return made
		})
	}
	if !v.status {
		v.object = of("")
		return
	}
	v.object, v.statuses = of("", "status"), of("status", "metadata", "spec")
}

// fieldManager is that of the object or of its status.
func (v *version) fieldManager(subresource string) *managedfields.FieldManager {
	if subresource == "status" {
		return v.statuses()
	}
	return v.object()
}

// versions converts between API versions as a definition without a conversion webhook
// does: only apiVersion changes. It makes empty objects by decoder, which may be nil else,
// and has no defaults.
type versions struct{ decoder }

// Convert implements runtime.ObjectConvertor; nobody calls it.
func (versions) Convert(in, out, _ any) error { return fmt.Errorf("cannot convert %T to %T", in, out) }

// ConvertToVersion implements runtime.ObjectConvertor.
func (versions) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	kind, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{in.GetObjectKind().GroupVersionKind()})
	if !ok {
		return nil, fmt.Errorf("%s is not of %v", in.GetObjectKind().GroupVersionKind(), target)
	}
	if s, ok := in.(*shown); ok {
		in = s.Unstructured
	}
	return inVersion(in.(*unstructured.Unstructured), kind), nil
}

// ConvertFieldLabel implements runtime.ObjectConvertor.
func (versions) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

// Default implements runtime.ObjectDefaulter.
func (versions) Default(runtime.Object) {}

// New implements runtime.ObjectCreater.
func (v versions) New(schema.GroupVersionKind) (runtime.Object, error) { return v.empty(), nil }

func emptyObject(kind schema.GroupVersionKind) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(kind)
	return obj
}

// inVersion returns the object in another API version. It shares all but the top.
func inVersion(obj *unstructured.Unstructured, kind schema.GroupVersionKind) *unstructured.Unstructured {
	if obj.GetAPIVersion() == kind.GroupVersion().String() {
		return obj
	}
	top := make(map[string]any, len(obj.Object))
	for key, value := range obj.Object {
		top[key] = value
	}
	top["apiVersion"] = kind.GroupVersion().String()
	return &unstructured.Unstructured{Object: top}
}

// builtinConverter knows the schemas of built-in kinds, with the keys of their lists.
func builtinConverter() managedfields.TypeConverter {
	return applyconfigurations.NewTypeConverter(scheme.Scheme)
}

// builtinDecoder sends objects through their Go type.
type builtinDecoder struct {
	gvk   schema.GroupVersionKind
	blank func() *unstructured.Unstructured // what empty copies
}

func newBuiltinDecoder(gvk schema.GroupVersionKind) builtinDecoder {
	return builtinDecoder{gvk, sync.OnceValue(func() *unstructured.Unstructured {
		obj := emptyObject(gvk)
		if typed, err := scheme.Scheme.New(gvk); err == nil {
			_, _ = throughType(obj, typed) // it has nothing that could be wrong
		}
		return obj
	})}
}

func (d builtinDecoder) empty() *unstructured.Unstructured { return d.blank().DeepCopy() }

func (d builtinDecoder) decode(obj *unstructured.Unstructured) ([]string, error) {
	typed, err := scheme.Scheme.New(d.gvk)
	if err != nil {
		return nil, err
	}
	unknown, err := throughType(obj, typed)
	if err != nil {
		return nil, err
	}
	setDefaults(d.gvk.Kind, obj.Object)
	return unknown, nil
}

// throughType makes obj what is left of it in a Go type.
func throughType(obj *unstructured.Unstructured, typed runtime.Object) (unknown []string, err error) {
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(obj.Object, typed, true)
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		for _, e := range strict.Errors() {
			unknown = append(unknown, e.Error())
		}
	} else if err != nil {
		return nil, worded(obj, typed, err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil, err
	}
	obj.Object = content
	return unknown, nil
}

// worded is the error of a decoder of JSON, which names the field.
func worded(obj *unstructured.Unstructured, typed runtime.Object, otherwise error) error {
	data, err := json.Marshal(obj.Object)
	if err == nil {
		err = kjson.UnmarshalCaseSensitivePreserveInts(data, typed)
	}
	return cmp.Or(err, otherwise)
}

func (builtinDecoder) validate(obj, old *unstructured.Unstructured, _ bool) field.ErrorList {
	return validateBuiltin(obj, old)
}

// managerName is the name of a field manager, as the API server finds it.
func managerName(option, client string) string {
	if option != "" {
		return option
	}
	return client
}
