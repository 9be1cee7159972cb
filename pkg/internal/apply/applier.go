package apply

import (
	"context"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/ambit-dev/ambit/pkg/internal/secretview"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// Applier writes children as one identity, for one policy. It is immutable and
// safe for concurrent use.
type Applier struct {
	// Client acts as the identity of the policy. Required, but for Mark.
	Client dynamic.Interface
	// Writer sends creates and applies, to the resource and namespace of the one action, where only a
	// part of their answers is wanted: what identifies an object, its labels, and what
	// ssadiff.Compare needs, at least. Nil: Client sends them.
	Writer Writer
	// Manager is the field manager of the policy. Required.
	Manager string
	// Identity is the user name behind Client, for messages. Required.
	Identity string
	// Now and Random are what values of Secrets are made with. Required where an action has Make.
	Now    func() time.Time
	Random io.Reader
}

// Writer is what is used of a dynamic.ResourceInterface to make and change objects.
type Writer interface {
	Create(ctx context.Context, object *unstructured.Unstructured, opts metav1.CreateOptions, subresources ...string) (*unstructured.Unstructured, error)
	Patch(ctx context.Context, name string, kind types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error)
}

// Target says where an action goes: the resource behind its kind, and the owner
// on whose behalf it is done.
type Target struct {
	Resource schema.GroupVersionResource
	// OwnerUID is empty for what the policy ensures.
	OwnerUID types.UID
	// OwnerNamespace is the owner's, empty for one without. No message says who has an
	// object anywhere else.
	OwnerNamespace string
	// Lives says whether there is, or may be, another owner of that uid for which a
	// policy of this name made an object: such an object is not adopted. Nil: all of
	// them live.
	Lives func(owner types.UID) bool
}

// Outcome says how an action ended. Exactly one of its fields is set, IsPartial, Met and
// Adopted aside, or none for a delete whose object was gone already. That a kind is
// not served is a Problem also for a delete: the object may still be there.
type Outcome struct {
	// Object is the live object after a write, or the object of ours that a create
	// met.
	Object *unstructured.Unstructured
	// IsPartial is true, beside Object, if it is an answer of Applier.Writer.
	IsPartial bool
	// Met is true, beside Object, if the object was there already and nothing was
	// written: the cache does not show it, or not yet.
	Met bool
	// IsLeftBehind is true, beside Met, if FindRecorded's object says that it is left behind.
	IsLeftBehind bool
	// Adopted is true, beside Object, if the object was there already, was nobody's,
	// and was taken over.
	Adopted bool
	// Deleted is true after a delete that the API server accepted. An object that is
	// still there, on its way out, is in Object instead.
	Deleted bool
	// Problem is what stood in the way, for the next plan.
	Problem *plan.Problem
	// Stale is true when the API server's answer shows that the plan was made from
	// an old view: plan again when the cache has caught up.
	Stale bool
}

// actionWrite is one action under way.
type actionWrite struct {
	plan.Action
	Target
	objects dynamic.ResourceInterface
	writer  Writer
}

// CarryOut carries out one action. What the API server refuses is in the outcome; the
// error is for an action that cannot be understood. An action without a namespace
// is on an object of a kind that has none.
func (a *Applier) CarryOut(ctx context.Context, action plan.Action, t Target) (Outcome, error) {
	if action.UID == "" && action.Verb != plan.Create {
		return Outcome{}, fmt.Errorf("carrying out %s on %s: the uid is missing", action.Verb, describeAction(action))
	}
	w := actionWrite{Action: action, Target: t, objects: a.Client.Resource(t.Resource).Namespace(action.Namespace)}
	if w.writer = a.Writer; w.writer == nil {
		w.writer = w.objects
	}
	outcome, err := a.carryOut(ctx, w)
	outcome.Object = secretview.ReduceObject(outcome.Object) // whoever answers with all of it
	return outcome, err
}

func (a *Applier) carryOut(ctx context.Context, w actionWrite) (Outcome, error) {
	switch w.Verb {
	case plan.Create:
		return a.createObject(ctx, w), nil
	case plan.Apply:
		return a.applyObject(ctx, w), nil
	case plan.MakeValues:
		return a.makeValues(ctx, w), nil
	case plan.Merge:
		return a.mergeFields(ctx, w), nil
	case plan.Release:
		return a.releaseFields(ctx, w), nil
	case plan.Delete:
		return a.deleteObject(ctx, w), nil
	}
	return Outcome{}, fmt.Errorf("carrying out an action on %s: unknown verb %q", describeAction(w.Action), w.Verb)
}

// applyObject makes the object as it is to be, if it still is the one that was seen.
func (a *Applier) applyObject(ctx context.Context, w actionWrite) Outcome {
	if w.Migrate {
		if outcome, ok := a.migrateManager(ctx, w); !ok {
			return outcome
		}
	}
	write := a.forceApply
	if w.Changes != nil {
		write = a.patchChanges
	}
	applied, err := write(ctx, w)
	switch {
	case err == nil:
		return Outcome{Object: applied, IsPartial: a.Writer != nil}
	case isAnother(err):
		return Outcome{Stale: true}
	}
	return a.refusedOutcome(err, "patch", w)
}

func (a *Applier) forceApply(ctx context.Context, w actionWrite) (*unstructured.Unstructured, error) {
	desired := w.Object.DeepCopy()
	desired.SetUID(w.UID)
	return w.serverSideApply(ctx, w.writer, desired, metav1.PatchOptions{FieldManager: a.Manager, Force: new(true)})
}

// serverSideApply sends one apply of the object, which has to carry the uid of the
// live one.
func (w actionWrite) serverSideApply(ctx context.Context, by Writer, object *unstructured.Unstructured, options metav1.PatchOptions) (*unstructured.Unstructured, error) {
	body, err := object.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", describeAction(w.Action), err)
	}
	options.FieldValidation = metav1.FieldValidationStrict
	return by.Patch(ctx, w.Name, types.ApplyPatchType, body, options)
}
