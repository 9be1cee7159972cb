package apply

import (
	"cmp"
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

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
	applied, err := w.serverSideApply(ctx, fields, metav1.PatchOptions{FieldManager: cmp.Or(w.Manager, a.Manager)})
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
