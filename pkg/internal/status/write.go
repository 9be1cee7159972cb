package status

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/jsonwalk"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// Equal says whether writing next over old would change nothing.
func Equal(old, next map[string]any) bool { return equalValues(old, next) }

// equalValues is equality.Semantic.DeepEqual for JSON-like values, without the reflection.
func equalValues(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for key, value := range x {
			if other, has := y[key]; !has || !equalValues(value, other) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, equalValues)
	case nil, string, int64, float64, bool:
		return a == b
	}
	return equality.Semantic.DeepEqual(a, b)
}

// Patcher is what is used of a dynamic.ResourceInterface to write a status.
type Patcher interface {
	Patch(ctx context.Context, name string, kind types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error)
}

// WriteStatus patches the status of the owner to next. It is one request, refused
// with a conflict (apierrors.IsConflict) if the owner changed since it was
// read. The result is the owner as the API server has it afterwards.
func WriteStatus(ctx context.Context, objects Patcher, owner *unstructured.Unstructured, next map[string]any, manager string) (*unstructured.Unstructured, error) {
	patch, err := jsonwalk.EncodeJSON(map[string]any{
		"metadata": map[string]any{"resourceVersion": owner.GetResourceVersion(), "uid": string(owner.GetUID())},
		"status":   mergePatch(StatusOf(owner), next),
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the status of %s %s/%s: %w", owner.GetKind(), owner.GetNamespace(), owner.GetName(), err)
	}
	written, err := objects.Patch(ctx, owner.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager}, "status")
	if err != nil {
		return nil, fmt.Errorf("writing the status of %s %s/%s: %w", owner.GetKind(), owner.GetNamespace(), owner.GetName(), err)
	}
	return written, nil
}

// mergePatch returns the JSON merge patch (RFC 7386) that turns old into next.
func mergePatch(old, next map[string]any) map[string]any {
	patch := map[string]any{}
	for key := range old {
		if _, ok := next[key]; !ok {
			patch[key] = nil
		}
	}
	for key, value := range next {
		before, existed := old[key]
		if existed && equalValues(before, value) {
			continue
		}
		from, wasMap := before.(map[string]any)
		to, isMap := value.(map[string]any)
		if wasMap && isMap {
			patch[key] = mergePatch(from, to)
			continue
		}
		patch[key] = value
	}
	return patch
}

// ManagedPart returns what of a status is Ambit's and the policy's to say: the fields of the
// template, observedGeneration and their conditions, by type and without times. Two statuses
// with equal parts say the same of the owner as far as the policy goes. The result shares
// values with the status.
func ManagedPart(program *policy.Program, status map[string]any) map[string]any {
	part := map[string]any{}
	if program.Status != nil {
		part = maps.Clone(program.Status.FieldsSet().ProjectObject(status))
	}
	if generation, ok := status["observedGeneration"]; ok {
		part["observedGeneration"] = generation
	}
	ours, said := ownedTypes(program), map[string]any{}
	for _, c := range listOf(WithoutTimes(status)["conditions"]) {
		condition, _ := c.(map[string]any)
		if kind, _ := condition["type"].(string); ours[kind] || v1alpha1.IsReservedCondition(kind) {
			said[kind] = condition
		}
	}
	part["conditions"] = said
	return part
}
