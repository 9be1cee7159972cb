package apply

import (
	"cmp"
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/plan/claims"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/plan/managedfields"
)

// FindRecorded reads the object of an entry in an owner's record, whatever its labels are. It is
// one request. The outcome has the object in Object, with Met if the record proves that
// it is the owner's and nothing else ties it to an owner, and with IsLeftBehind if its ownership token
// says so; nothing if it is gone; else Problem.
func (a *Applier) FindRecorded(ctx context.Context, record inventory.Inventory, e inventory.Entry, t Target) Outcome {
	return a.findEntry(ctx, e, t, func(w actionWrite, live *unstructured.Unstructured) Outcome {
		orphan, ours := record.ProveOwnership(e, live)
		met := ours && !w.isOfAnother(live) && otherPolicy(live, record.Policy) == "" && !claims.IsControlled(live, t.OwnerUID)
		return Outcome{Met: met, IsLeftBehind: met && orphan}
	})
}

// FindWritten is FindRecorded for an object that a write of the policy may have made for the owner, or, if
// e is Merged, merged into for it. Met is true if fields of it are merged for the owner; or else if an
// ownerReference ties it to the owner, and this policy has made it: others may make some for that owner.
func (a *Applier) FindWritten(ctx context.Context, policy string, e inventory.Entry, t Target) Outcome {
	return a.findEntry(ctx, e, t, func(_ actionWrite, live *unstructured.Unstructured) Outcome {
		if e.Merged {
			return Outcome{Met: managedfields.HasManager(live, v1alpha1.MergeManager(policy, t.OwnerUID))}
		}
		isMade := live.GetLabels()[v1alpha1.LabelPolicy] == policy || managesFields(live, a.Manager)
		return Outcome{Met: claims.IsControlled(live, t.OwnerUID) && otherPolicy(live, policy) == "" && isMade}
	})
}

// findEntry reads the object of an entry. judge says of one that is there whose it is.
func (a *Applier) findEntry(ctx context.Context, e inventory.Entry, t Target, judge func(w actionWrite, live *unstructured.Unstructured) Outcome) Outcome {
	w := actionWrite{
		Action: plan.Action{GVK: e.GVK, Namespace: e.Namespace, Name: e.Name},
		Target: t, objects: a.Client.Resource(t.Resource).Namespace(e.Namespace),
	}
	live, err := w.objects.Get(ctx, e.Name, metav1.GetOptions{})
	switch {
	case isGone(err):
		return Outcome{}
	case err != nil:
		return a.refusedOutcome(err, "get", w)
	}
	found := judge(w, live)
	found.Object = live
	return found
}

// deleteObject removes the object of the action's uid; if the action has a
// resourceVersion, only as it was then.
func (a *Applier) deleteObject(ctx context.Context, w actionWrite) Outcome {
	only := &metav1.Preconditions{UID: &w.UID}
	if w.ResourceVersion != "" {
		only.ResourceVersion = &w.ResourceVersion
	}
	err := w.objects.Delete(ctx, w.Name, metav1.DeleteOptions{
		Preconditions: only, PropagationPolicy: new(metav1.DeletePropagationBackground),
	})
	switch {
	case err == nil:
		return leaveBehind(ctx, w)
	case isGone(err):
		return Outcome{}
	case apierrors.IsConflict(err):
		return Outcome{Stale: true}
	}
	return a.refusedOutcome(err, "delete", w)
}

// DeleteOwner deletes the owner of children, if it is as it was read. What becomes of it its own event says: the
// outcome has nothing of it.
func (a *Applier) DeleteOwner(ctx context.Context, objects dynamic.ResourceInterface, resource schema.GroupVersionResource, owner *unstructured.Unstructured) Outcome {
	uid, version := owner.GetUID(), owner.GetResourceVersion()
	err := objects.Delete(ctx, owner.GetName(), metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}, PropagationPolicy: new(metav1.DeletePropagationBackground),
	})
	switch {
	case err == nil, isGone(err):
		return Outcome{}
	case apierrors.IsConflict(err):
		return Outcome{Stale: true}
	}
	w := actionWrite{Action: plan.Action{GVK: owner.GroupVersionKind(), Namespace: owner.GetNamespace(), Name: owner.GetName()}, Target: Target{Resource: resource}}
	return a.refusedOutcome(err, "delete", w)
}

// leaveBehind says what an accepted deletion has left: an object with a finalizer, or one that
// ends by and by, is there until it is gone, and so is what it needs.
func leaveBehind(ctx context.Context, w actionWrite) Outcome {
	live, err := w.objects.Get(ctx, w.Name, metav1.GetOptions{})
	switch {
	case err == nil && live.GetUID() == w.UID:
		return Outcome{Object: live}
	case err == nil, isGone(err):
		return Outcome{Deleted: true}
	}
	return Outcome{Stale: true} // the cache will know
}

// mergeFields sets fields in an object of somebody else, where nobody else has them.
func (a *Applier) mergeFields(ctx context.Context, w actionWrite) Outcome {
	return a.applyBeside(ctx, w, w.Object.DeepCopy())
}

// releaseFields takes back what merge has set: the manager applies nothing. Without an
// entry of the manager the API server finds nothing to change, and writes nothing.
func (a *Applier) releaseFields(ctx context.Context, w actionWrite) Outcome {
	nothing := &unstructured.Unstructured{}
	nothing.SetGroupVersionKind(w.GVK)
	nothing.SetNamespace(w.Namespace)
	nothing.SetName(w.Name)
	return a.applyBeside(ctx, w, nothing)
}

// applyBeside applies the fields of an object that is not ours, without force. The
// uid sees to it that the object is the one that was seen, and is not made.
func (a *Applier) applyBeside(ctx context.Context, w actionWrite, fields *unstructured.Unstructured) Outcome {
	fields.SetUID(w.UID)
	applied, err := w.serverSideApply(ctx, w.objects, fields, metav1.PatchOptions{FieldManager: cmp.Or(w.Manager, a.Manager)})
	if err == nil {
		return Outcome{Object: applied}
	}
	if conflicts := conflictsOf(err); len(conflicts) > 0 {
		return Outcome{Problem: conflicts.conflictProblem(w.Action)}
	}
	if isAnother(err) {
		return Outcome{Stale: true}
	}
	return a.refusedOutcome(err, "patch", w)
}
