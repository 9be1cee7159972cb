package plan

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// IsOurs says whether the owner of the given uid is the controller of the live
// object. Nothing else proves that it is the owner's child; an empty uid proves
// nothing.
func IsOurs(live *unstructured.Unstructured, owner types.UID) bool {
	refs, _ := field(live.Object, "metadata", "ownerReferences").([]any)
	for _, r := range refs {
		ref, _ := r.(map[string]any)
		if controller, _ := ref["controller"].(bool); controller {
			uid, _ := ref["uid"].(string)
			return uid != "" && uid == string(owner)
		}
	}
	return false
}

func hasController(obj *unstructured.Unstructured) bool {
	return metav1.GetControllerOfNoCopy(obj) != nil
}

// NameConflict is the problem of a child whose name is taken by an object that
// is not ours. It names the object and who owns it.
//
// An object that is being deleted is only in the way for a while: mostly it was
// the child of an owner that had the same name before.
func NameConflict(live *unstructured.Unstructured) *Problem {
	if isDeleting(live) {
		return &Problem{
			Reason:  v1alpha1.ReasonDeleting,
			Message: fmt.Sprintf("%s %q exists, is not ours, and is being deleted: waiting for it to be gone", live.GetKind(), live.GetName()),
		}
	}
	owner := "it has no controller"
	if ref := metav1.GetControllerOfNoCopy(live); ref != nil {
		owner = fmt.Sprintf("its controller is %s %q (uid %s)", ref.Kind, ref.Name, ref.UID)
	}
	return &Problem{
		Reason:   v1alpha1.ReasonNameConflict,
		Terminal: true,
		Message: fmt.Sprintf("%s %q exists and is not ours: %s; it is left as it is, delete or rename it",
			live.GetKind(), live.GetName(), owner),
	}
}

// isServerMetadata says whether a field of metadata is the object's identity, or
// set by nobody but the API server.
func isServerMetadata(key string) bool {
	switch key {
	case "name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp",
		"deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink":
		return true
	}
	return false
}

// field returns what is at a path of nested maps, or nil.
func field(m map[string]any, path ...string) any {
	var v any = m
	for _, key := range path {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}
