package sim

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// Request is what a client asks for.
type Request struct {
	// User is who asks; if Impersonated is not empty, for the rights of that user.
	User, Impersonated string
	// Process tells apart those that ask as one user; see Client.Named.
	Process string
	// Verb is as in RBAC: get, list, watch, create, update, patch, delete,
	// deletecollection; "discover" for what a mapper asks.
	Verb string
	// Resource has no version and no resource for some discovery requests.
	Resource schema.GroupVersionResource
	// Subresource is empty for the object itself.
	Subresource string
	// Namespace is empty for what is cluster-scoped or of all namespaces. Name is empty
	// for lists, watches, and creates with a generated name.
	Namespace, Name string
	// About is the namespace that a review asks about.
	About string

	applies bool // a create by an apply, whose path has the name
}

// actor is the user whose rights decide.
func (r Request) actor() string {
	if r.Impersonated != "" {
		return r.Impersonated
	}
	return r.User
}

// Faults may disturb requests. Its methods are called concurrently, from the
// goroutines of clients and without a lock; Before and After may block, which delays
// the request.
type Faults interface {
	// Before is called before a request is handled. An error is the answer; nothing is
	// done then.
	Before(context.Context, Request) error
	// After is called when a request was handled, with its answer, nil for success. What
	// it returns is the answer instead: an error that is not answer loses that.
	After(ctx context.Context, r Request, answer error) error
	// Stream is asked when a watch is opened; nil leaves it alone.
	Stream(Request) Stream
}

// Stream decides how an open watch goes on. It is called for each event before it is
// delivered, also for those of the first list, one at a time and with a lock of the
// server held: it must not block and not call the server.
type Stream func(watch.EventType, uint64) Delivery

// Delivery says what becomes of an event. The zero value delivers it at once.
type Delivery struct {
	// Lag is how long the event is held up; those behind it wait as well.
	Lag time.Duration
	// End ends the watch instead, as a broken connection does. Expire ends it with a 410.
	End, Expire bool
}

// noFaults disturbs nothing.
type noFaults struct{}

var _ Faults = noFaults{}

// Before implements Faults.
func (noFaults) Before(context.Context, Request) error { return nil }

// After implements Faults.
func (noFaults) After(_ context.Context, _ Request, answer error) error { return answer }

// Stream implements Faults.
func (noFaults) Stream(Request) Stream { return nil }
