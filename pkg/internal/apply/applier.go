package apply

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/ambit-dev/ambit/pkg/plan"
)

// Applier writes children as one identity, for one policy. It is immutable and
// safe for concurrent use.
type Applier struct {
	// Client acts as the identity of the policy. Required.
	Client dynamic.Interface
	// Manager is the field manager of the policy. Required.
	Manager string
	// Identity is the user name behind Client, for messages. Required.
	Identity string
}

// Target says where an action goes: the resource behind its kind, and the owner
// on whose behalf it is done.
type Target struct {
	Resource schema.GroupVersionResource
	OwnerUID types.UID
}

// Outcome says how an action ended. Exactly one of its fields is set, Met aside,
// or none for a delete whose object was gone already.
type Outcome struct {
	// Object is the live object after a create or an apply, or the object of ours
	// that a create met.
	Object *unstructured.Unstructured
	// Met is true, beside Object, if the object was there already and nothing was
	// written: the cache does not show it, or not yet.
	Met bool
	// Deleted is true after a delete that the API server accepted.
	Deleted bool
	// Problem is what stood in the way, for the next plan.
	Problem *plan.Problem
	// Stale is true when the API server's answer shows that the plan was made from
	// an old view: plan again when the cache has caught up.
	Stale bool
}

// Do carries out one action. What the API server refuses is in the outcome; the
// error is for an action that cannot be understood.
func (a *Applier) Do(ctx context.Context, action plan.Action, t Target) (Outcome, error) {
	objects := a.Client.Resource(t.Resource).Namespace(action.Namespace)
	switch action.Verb {
	case plan.Create:
		return a.create(ctx, objects, action, t), nil
	case plan.Apply:
		return a.apply(ctx, objects, action, t), nil
	case plan.Delete:
		return a.delete(ctx, objects, action, t), nil
	}
	return Outcome{}, fmt.Errorf("carrying out an action on %s %q: unknown verb %q", action.GVK.Kind, action.Name, action.Verb)
}
