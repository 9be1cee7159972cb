// Package projection makes of an object what an informer keeps of it: only the fields that
// somebody reads, and the parts that are equal in many objects once.
package projection

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/internal/fields"
)

// Config says what is kept of each object, beside what identifies it: apiVersion, kind, and
// of the metadata name, namespace, uid, resourceVersion, deletionTimestamp and labels.
type Config struct {
	// Fields are kept; nil are none. It must not change any more.
	Fields *fields.Set
	// Manager keeps the managedFields entries of this field manager, and of those
	// whose names begin with it and a slash; "" keeps none.
	Manager string
	// APIVersion and Kind are those of objects of which the API server gives metadata
	// only: it does not say them there. An empty Kind leaves PartialObjectMetadata.
	APIVersion, Kind string
}

// Projection makes the objects that the store of one informer holds. It is safe for
// concurrent use.
type Projection struct {
	projector projector
	interner  *interner
}

// New makes a Projection that has met no object.
func New(c Config) *Projection {
	return &Projection{projector: newProjector(c), interner: newInterner()}
}

// Transformed is an object that Transform has made: the Reflector's own list of an initial
// stream holds small objects.
type Transformed struct{ *unstructured.Unstructured }

// Transform is a cache.TransformFunc. It gives a Transformed.
func (p *Projection) Transform(obj any) (any, error) {
	object, err := p.ProjectDelivered(obj)
	return Transformed{object}, err
}

// ProjectDelivered makes the object to keep of one that a client or Transform gave. The
// input must not be used for anything else after that.
func (p *Projection) ProjectDelivered(obj any) (*unstructured.Unstructured, error) {
	if done, ok := obj.(Transformed); ok {
		return done.Unstructured, nil
	}
	object, err := p.projector.projectDelivered(obj)
	if err != nil {
		return nil, err
	}
	return p.internObject(object), nil
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

// FitTo is called after each change of the store, with the number of its objects, once
// that is known. It drops shared parts that no object has any more.
func (p *Projection) FitTo(objects int) { p.interner.fitTo(objects) }

// ForgetShared drops all shared parts.
func (p *Projection) ForgetShared() { p.interner.forgetAll() }
