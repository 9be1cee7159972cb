package sim

import (
	"net/http"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Admission sees each create, update, patch, apply and delete of a user, of objects and of
// their status, as a mutating admission webhook does: it may set Review.Object to another
// one. An error is the answer of the request; see Denied. It does not see what controllers
// write.
//
// It is called with a lock of the server held: it must not call the server. What it changes
// is pruned, gets defaults and is validated. It does not change managedFields: they are made
// before, and say of the changed fields what they said.
type Admission func(*Review) error

// Review is what an Admission sees.
type Review struct {
	// Request is what is asked for. Its verb may be patch where an object is made: then Old
	// is nil.
	Request Request
	// Object is what would be stored; nil for a delete. An object with a generated name has
	// none yet, and a new object no uid. It must not be changed: set it to a copy that is.
	Object *unstructured.Unstructured
	// Old is what is stored; nil if nothing is. It must not be changed.
	Old *unstructured.Unstructured
}

// Denied is the answer when a webhook refuses a request in the usual way: 403. Ambit tells it
// from a missing right by its text.
func Denied(webhook, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
		Message: `admission webhook "` + webhook + `" denied the request: ` + message,
	}}
}

// admit asks the Admission about a write, and returns what it makes of the object. The object
// is in the version of the request, as is before, which is nil if nothing is stored.
func (c *call) admit(obj, before *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if c.options.Admission == nil || c.internal {
		return obj, nil
	}
	review := &Review{Request: c.Request, Object: obj, Old: before}
	if err := c.options.Admission(review); err != nil {
		return nil, err
	}
	if review.Object == obj || reflect.DeepEqual(review.Object.Object, obj.Object) {
		return obj, nil
	}
	// What it adds is decoded as a body is: it may have been written by hand.
	review.Object = asSent(review.Object)
	if _, err := c.served.decoder.decode(review.Object); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return review.Object, nil
}

// admitDelete asks the Admission about a delete.
func (c *call) admitDelete(live *unstructured.Unstructured) error {
	if c.options.Admission == nil || c.internal {
		return nil
	}
	return c.options.Admission(&Review{Request: c.Request, Old: inVersion(live, c.served.gvk)})
}
