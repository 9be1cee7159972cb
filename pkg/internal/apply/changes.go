package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// strategicGroups are groups of which only the API server itself serves kinds, and in none of
// which a strategic merge patch replaces a map: `policy` has one, the selector of a
// PodDisruptionBudget.
var strategicGroups = sets.New("", "apps", "batch")

// patchChanges sends only what differs. An apply makes the API server work a millisecond longer
// on a Deployment.
func (a *Applier) patchChanges(ctx context.Context, w actionWrite) (*unstructured.Unstructured, error) {
	patch := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(w.Changes)}
	patch.SetUID(w.UID)
	body, err := json.Marshal(patch.Object)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", describeAction(w.Action), err)
	}
	options := metav1.PatchOptions{FieldManager: a.Manager, FieldValidation: metav1.FieldValidationStrict}
	return w.writer.Patch(ctx, w.Name, patchTypeFor(w.GVK, w.Changes), body, options)
}

// patchTypeFor chooses how changes of single values below maps are sent. Both types of patch do the same
// to them; the strategic one, which custom resources do not have, changes the API server's
// values and not their text, and takes it half a millisecond less on a Deployment.
func patchTypeFor(kind schema.GroupVersionKind, changes map[string]any) types.PatchType {
	if strategicGroups.Has(kind.Group) && !hasDirective(changes) {
		return types.StrategicMergePatchType
	}
	return types.MergePatchType
}

// hasDirective reports whether a key would be read as an instruction of a strategic merge patch,
// as `$patch` is. All of these begin with a dollar sign.
func hasDirective(changes map[string]any) bool {
	for key, value := range changes {
		if strings.HasPrefix(key, "$") {
			return true
		}
		if below, isMap := value.(map[string]any); isMap && hasDirective(below) {
			return true
		}
	}
	return false
}
