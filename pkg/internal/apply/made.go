package apply

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/recipe"
	"github.com/ambit-dev/ambit/pkg/internal/secretview"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/plan/desired"
)

// makeValues makes what is not valid in a Secret, as it is now: what is valid is not written again, whatever the plan was
// made from. The write carries the resourceVersion that was read, so that of two writers one wins.
func (a *Applier) makeValues(ctx context.Context, w actionWrite) Outcome {
	live, err := w.objects.Get(ctx, w.Name, metav1.GetOptions{})
	switch {
	case isGone(err):
		return Outcome{Stale: true}
	case err != nil:
		return a.refusedOutcome(err, "get", w)
	case live.GetUID() != w.UID || live.GetDeletionTimestamp() != nil:
		return Outcome{Stale: true}
	}
	whole := recipe.ReadWhole(live.Object)
	defer whole.WipePrivate()
	write, outcome, ok := a.produceValues(ctx, w, whole)
	if !ok {
		return outcome
	}
	defer write.WipePrivate()
	if write.IsEmpty() {
		return Outcome{Object: live, Met: true}
	}
	body, err := patchOf(live, write)
	if err != nil {
		return Outcome{Problem: &plan.Problem{Reason: v1alpha1.ReasonInvalid, Message: err.Error()}}
	}
	defer clear(body)
	options := metav1.PatchOptions{FieldManager: a.Manager, FieldValidation: metav1.FieldValidationStrict}
	written, err := w.writer.Patch(ctx, w.Name, types.MergePatchType, body, options)
	switch {
	case err == nil:
		return Outcome{Object: written, IsPartial: a.Writer != nil}
	case isAnother(err):
		return Outcome{Stale: true}
	}
	return a.refusedOutcome(err, "patch", w)
}

// patchOf is the merge patch that writes values into a Secret, if it is still as it was read.
func patchOf(live *unstructured.Unstructured, write recipe.Write) ([]byte, error) {
	record, err := write.Record.AnnotationText()
	if err != nil {
		return nil, err
	}
	data := map[string]any{}
	for _, key := range write.Removed {
		data[key] = nil
	}
	addValues(data, write)
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{
			"uid": string(live.GetUID()), "resourceVersion": live.GetResourceVersion(),
			"annotations": map[string]any{v1alpha1.AnnotationMade: record},
		},
		"data": data,
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the patch: %T", err) // it may quote a value
	}
	return body, nil
}

func addValues(data map[string]any, write recipe.Write) {
	for key, value := range write.Private {
		data[key] = base64.StdEncoding.EncodeToString(value.RevealValue())
	}
	for key, value := range write.Public {
		data[key] = base64.StdEncoding.EncodeToString(value)
	}
}

// withValues returns the object to create with the values that are made for it. The caller wipes the write.
func (a *Applier) withValues(ctx context.Context, w actionWrite) (object *unstructured.Unstructured, write recipe.Write, outcome Outcome, ok bool) {
	if w.Make == nil {
		return w.Object, recipe.Write{}, Outcome{}, true
	}
	if write, outcome, ok = a.produceValues(ctx, w, recipe.Whole{}); !ok {
		return nil, write, outcome, false
	}
	record, err := write.Record.AnnotationText()
	if err != nil {
		return nil, write, Outcome{Problem: &plan.Problem{Reason: v1alpha1.ReasonInvalid, Message: err.Error()}}, false
	}
	object = w.Object.DeepCopy()
	addValues(desired.SubMap(object.Object, "data"), write)
	desired.SubMap(desired.SubMap(object.Object, "metadata"), "annotations")[v1alpha1.AnnotationMade] = record
	return object, write, Outcome{}, true
}

// produceValues makes the values that a Secret has not as it should. Time is asked for before any Secret of a CA is read: what
// this CA signs begins before another one can have taken its place.
func (a *Applier) produceValues(ctx context.Context, w actionWrite, whole recipe.Whole) (recipe.Write, Outcome, bool) {
	now := a.Now()
	issuers := map[string]recipe.Whole{}
	defer func() {
		for _, issuer := range issuers {
			issuer.WipePrivate()
		}
	}()
	for _, id := range secretview.SortedKeys(w.Make.Issuers) {
		name := w.Make.Issuers[id]
		secret, err := a.Client.Resource(w.Resource).Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return recipe.Write{}, Outcome{Stale: true}, false
		case err != nil:
			return recipe.Write{}, a.refusedOutcome(err, "get", w), false
		}
		issuers[id] = recipe.ReadWhole(secret.Object)
	}
	write, err := recipe.MakeValues(w.Make.Recipes, whole, issuers, now, a.Random)
	if err != nil {
		message := fmt.Sprintf("%s: %v", describeAction(w.Action), err)
		return recipe.Write{}, Outcome{Problem: &plan.Problem{Reason: v1alpha1.ReasonInvalid, Message: message}}, false
	}
	return write, Outcome{}, true
}

// splitEntry gives the made values in our managedFields entry of operation Update to another manager: as ours, they
// would be removed by the next apply, which has them not.
func splitEntry(live *unstructured.Unstructured, w actionWrite, manager string) {
	if w.Make == nil {
		return
	}
	entries, _, _ := unstructured.NestedSlice(live.Object, "metadata", "managedFields") // NestedSlice is a copy
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		if entry["manager"] != manager || entry["operation"] != string(metav1.ManagedFieldsOperationUpdate) || entry["subresource"] != nil {
			continue
		}
		fields, _ := entry["fieldsV1"].(map[string]any)
		template, made := w.Make.SplitFields(fields)
		if made == nil {
			continue
		}
		entry["fieldsV1"] = template
		other := map[string]any{}
		for key, value := range entry {
			other[key] = value
		}
		other["manager"], other["fieldsV1"] = manager+madeSuffix, made
		entries = append(entries, other)
	}
	_ = unstructured.SetNestedSlice(live.Object, entries, "metadata", "managedFields") // it was read from there
}

// madeSuffix ends the name of the manager that has made values, beside the policy's own.
const madeSuffix = "/made"
