package policysource

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// finalizerPatch returns the merge patch of a custom resource that puts the finalizer on
// it or takes it off; nil if it is as wanted, or needs nothing. The patch holds only for
// the object as it was read: its list of finalizers is written as a whole.
func finalizerPatch(object *unstructured.Unstructured, d document) ([]byte, error) {
	list := slices.Clone(object.GetFinalizers())
	has := slices.Contains(list, v1alpha1.FinalizerCleanup)
	switch {
	case !has && object.GetDeletionTimestamp() == nil && needsFinalizer(d):
		list = append(list, v1alpha1.FinalizerCleanup)
	case has && object.GetDeletionTimestamp() != nil && d.done:
		list = slices.DeleteFunc(list, func(f string) bool { return f == v1alpha1.FinalizerCleanup })
	default:
		return nil, nil
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": string(object.GetUID()), "resourceVersion": object.GetResourceVersion(), "finalizers": list,
	}})
}

// needsFinalizer says whether a document is to be cleaned up after when it is deleted.
func needsFinalizer(d document) bool {
	return d.held || d.program != nil && d.program.CleanupOnly == nil && !d.retiring && !d.missing && !d.deleting
}
