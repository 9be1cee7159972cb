// Package projection makes of an object what an informer keeps of it: only the fields that
// somebody reads, and the parts that are equal in many objects once.
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
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/internal/fields"
	"github.com/ambit-dev/ambit/pkg/internal/packed"
	"github.com/ambit-dev/ambit/pkg/internal/secretview"
)

// Config says what is kept of each object, beside what identifies it: apiVersion, kind, and
// of the metadata name, namespace, uid, resourceVersion, deletionTimestamp and labels.
type Config struct {
	// Fields are kept; nil are none. It must not change any more.
	Fields *fields.Set
	// Manager keeps the managedFields entries of this field manager, and of those
	// whose names begin with it and a slash, but for their times; "" keeps none.
	Manager string
	// APIVersion and Kind are those of objects of which the API server gives metadata
	// only: it does not say them there. An empty Kind leaves PartialObjectMetadata.
	APIVersion, Kind string
	// Secrets: they are Secrets, of which values that Ambit made are taken away (package secretview).
	Secrets bool
}

// Projection makes the objects that the store of one informer holds. It is safe for
// concurrent use.
type Projection struct {
	*form
	objects  int // of the store; guarded by the interner's mu
	released bool
}

// New makes a Projection that has met no object, and shares nothing with others.
func New(c Config) *Projection { return (&Pool{}).New(c) }

// Transformed is an object that Decode has made.
type Transformed struct{ *unstructured.Unstructured }

// Transform is a cache.TransformFunc. It gives a packed.Map: the Reflector's own list of an initial
// stream takes no more memory than the store will.
func (p *Projection) Transform(obj any) (any, error) {
	object, err := p.ProjectDelivered(obj)
	if err != nil {
		return nil, err
	}
	return p.Pack(object), nil
}

// ProjectDelivered makes the object to keep of one that a client, Decode or Transform gave. The
// input must not be used for anything else after that.
func (p *Projection) ProjectDelivered(obj any) (*unstructured.Unstructured, error) {
	switch obj := obj.(type) {
	case packed.Map:
		return p.Unpack(obj), nil
	case Transformed:
		return obj.Unstructured, nil
	case *unstructured.Unstructured:
		return p.internObject(p.projector.projectObject(obj)), nil
	case *metav1.PartialObjectMetadata:
		object, err := p.projector.projectMetadata(obj)
		if err != nil {
			return nil, err
		}
		return p.internObject(object), nil
	}
	return nil, fmt.Errorf("projecting an object: unexpected type %T", obj)
}

// ProjectWritten makes the object to keep of one that stays the caller's.
func (p *Projection) ProjectWritten(obj *unstructured.Unstructured) *unstructured.Unstructured {
	return p.internObject(p.projector.projectObject(obj))
}

// internObject copies an object, and shares its parts. Decoded maps and lists have room to grow;
// those of the copy do not.
func (p *Projection) internObject(object *unstructured.Unstructured) *unstructured.Unstructured {
	object = object.DeepCopy()
	p.interner.internObject(object)
	return object
}

// Pack packs an object that a Projection of this form has made. Parts that others have as well stay what
// they are.
func (p *Projection) Pack(object *unstructured.Unstructured) packed.Map {
	p.interner.mu.Lock()
	defer p.interner.mu.Unlock()
	name := types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
	return packed.PackMap(object.Object, func(part any) bool { return p.interner.noteUser(part, name) })
}

// Unpack makes an object of what Pack has packed.
func (p *Projection) Unpack(object packed.Map) *unstructured.Unstructured {
	p.interner.mu.Lock()
	defer p.interner.mu.Unlock()
	return &unstructured.Unstructured{Object: object.UnpackMap(p.interner.knownText)}
}

// FitTo is called after each change of the store, with the number of its objects, once
// that is known. It drops shared parts that no object has any more.
func (p *Projection) FitTo(objects int) {
	p.interner.mu.Lock()
	defer p.interner.mu.Unlock()
	p.fitLocked(objects)
}

func (p *Projection) fitLocked(objects int) {
	change := objects - p.objects
	p.objects = objects
	p.interner.fitBy(change)
}

// ForgetShared is called when the store has dropped all objects. It drops all shared parts, also those
// that other Projections have met.
func (p *Projection) ForgetShared() {
	p.interner.mu.Lock()
	defer p.interner.mu.Unlock()
	p.fitLocked(0)
	p.interner.forgetAll()
}

// projector reduces objects to what an informer keeps of them. It is immutable.
type projector struct {
	fields           *fields.Set
	entries          *fields.Set // of a managedFields entry
	manager          string
	apiVersion, kind string // of metadata-only informers
	secrets          bool
}

// identifying are the fields that are always kept. Nobody changes it.
var identifying = sync.OnceValue(func() *fields.Set {
	return fields.New("apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.uid",
		"metadata.resourceVersion", "metadata.deletionTimestamp", "metadata.labels")
})

// entryFields are kept of a managedFields entry. Its time is different in every object. Nobody changes it.
var entryFields = sync.OnceValue(func() *fields.Set {
	return fields.New("manager", "operation", "apiVersion", "subresource", "fieldsType", "fieldsV1")
})

func newProjector(c Config) projector {
	return projector{
		fields:     identifying().Union(c.Fields),
		entries:    entryFields(),
		manager:    c.Manager,
		apiVersion: c.APIVersion,
		kind:       c.Kind,
		secrets:    c.Secrets,
	}
}

// projectObject returns a new object that shares values with obj, which is not changed.
func (p projector) projectObject(obj *unstructured.Unstructured) *unstructured.Unstructured {
	if p.secrets {
		obj = secretview.ReduceObject(obj)
	}
	content := p.fields.ProjectObject(obj.Object)
	kept := p.keptEntries(obj)
	metadata, ok := content["metadata"].(map[string]any)
	if !ok {
		return &unstructured.Unstructured{Object: content}
	}
	if _, has := metadata["managedFields"]; !has && kept == nil {
		return &unstructured.Unstructured{Object: content}
	}
	if p.fields.CoversPath("metadata") { // shared with obj as a whole
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
			kept = append(kept, p.entries.ProjectObject(fields))
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
