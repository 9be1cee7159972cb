package status

import (
	"maps"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// Part returns what of a status is Ambit's and the policy's to say: the fields of the
// template, observedGeneration and their conditions, by type and without times. Two statuses
// with equal parts say the same of the owner as far as the policy goes. The result shares
// values with the status.
func Part(program *policy.Program, status map[string]any) map[string]any {
	part := map[string]any{}
	if program.Status != nil {
		part = maps.Clone(program.Status.Paths().Project(status))
	}
	if generation, ok := status["observedGeneration"]; ok {
		part["observedGeneration"] = generation
	}
	ours, said := ownedTypes(program), map[string]any{}
	for _, c := range listOf(Timeless(status)["conditions"]) {
		condition, _ := c.(map[string]any)
		if kind, _ := condition["type"].(string); ours[kind] || v1alpha1.IsReservedCondition(kind) {
			said[kind] = condition
		}
	}
	part["conditions"] = said
	return part
}
