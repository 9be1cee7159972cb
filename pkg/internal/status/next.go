package status

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// Next returns the status that the owner should have: the old one, with the
// fields and conditions that are the policy's replaced by the plan's. now
// becomes the lastTransitionTime of conditions whose status changed. The owner
// and the plan are not changed; the result shares nothing with the owner.
//
// A plan without conditions (suspended, being deleted) has nothing to say: the
// result then equals the old status.
func Next(owner *unstructured.Unstructured, program *policy.Program, p *plan.Plan, now time.Time) map[string]any {
	old := Of(owner)
	next := runtime.DeepCopyJSON(old)
	if p.Conditions == nil {
		return next
	}
	if program.Status != nil {
		remove(next, program.Status.Paths())
	}
	merge(next, p.Status)
	next["conditions"] = conditions(old, owned(program), p.Conditions, now)
	if generation := owner.GetGeneration(); generation != 0 && keepsObservedGeneration(old) {
		next["observedGeneration"] = generation
	}
	return next
}

// Of returns the status of an object, never nil; it is the object's own.
func Of(owner *unstructured.Unstructured) map[string]any {
	if status, ok := owner.Object["status"].(map[string]any); ok {
		return status
	}
	return map[string]any{}
}

// keepsObservedGeneration is false when the owner's schema is seen to have no
// status.observedGeneration: conditions were written before, by us and with it,
// and the field is not there. Writing it again would be a write at each pass.
func keepsObservedGeneration(old map[string]any) bool {
	if _, ok := old["observedGeneration"]; ok {
		return true
	}
	for _, c := range list(old["conditions"]) {
		if condition, ok := c.(map[string]any); ok && condition["type"] == v1alpha1.ConditionReady {
			return false
		}
	}
	return true
}

func owned(program *policy.Program) map[string]bool {
	types := map[string]bool{}
	for _, c := range program.Conditions {
		types[c.Type] = true
	}
	return types
}

// conditions returns the old conditions that are not ours, in their order, then
// ours as planned.
func conditions(old map[string]any, ours map[string]bool, planned []metav1.Condition, now time.Time) []any {
	result := make([]any, 0, len(planned))
	before := map[string]map[string]any{}
	for _, c := range list(old["conditions"]) {
		condition, ok := c.(map[string]any)
		if !ok {
			continue
		}
		kind, _ := condition["type"].(string)
		if ours[kind] || v1alpha1.IsReservedCondition(kind) {
			before[kind] = condition
			continue
		}
		result = append(result, runtime.DeepCopyJSONValue(condition))
	}
	for _, c := range planned {
		result = append(result, condition(c, before[c.Type], now))
	}
	return result
}

func condition(c metav1.Condition, before map[string]any, now time.Time) map[string]any {
	since := now.UTC().Format(time.RFC3339)
	if before["status"] == string(c.Status) {
		if t, ok := before["lastTransitionTime"].(string); ok {
			since = t
		}
	}
	result := map[string]any{
		"type": c.Type, "status": string(c.Status), "reason": c.Reason, "message": c.Message,
		"lastTransitionTime": since,
	}
	if c.ObservedGeneration != 0 {
		result["observedGeneration"] = c.ObservedGeneration
	}
	return result
}

// remove takes every field that paths cover out of m.
func remove(m map[string]any, paths *fields.Set) {
	for key, value := range m {
		if paths.Has(key) {
			delete(m, key)
			continue
		}
		if below, ok := value.(map[string]any); ok {
			if sub := paths.Sub(key); sub != nil {
				remove(below, sub)
			}
		}
	}
}

// merge puts from into m; maps are merged, everything else is replaced.
func merge(m, from map[string]any) {
	for key, value := range from {
		below, isMap := value.(map[string]any)
		into, hasMap := m[key].(map[string]any)
		if isMap && hasMap {
			merge(into, below)
			continue
		}
		m[key] = runtime.DeepCopyJSONValue(value)
	}
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// Same is Equal but for the times of conditions: it says whether two statuses
// say the same.
func Same(a, b map[string]any) bool {
	return Equal(timeless(a), timeless(b))
}

func timeless(status map[string]any) map[string]any {
	result := make(map[string]any, len(status))
	for key, value := range status {
		result[key] = value
	}
	conditions := make([]any, 0, len(list(status["conditions"])))
	for _, c := range list(status["conditions"]) {
		if condition, ok := runtime.DeepCopyJSONValue(c).(map[string]any); ok {
			delete(condition, "lastTransitionTime")
			conditions = append(conditions, condition)
		}
	}
	result["conditions"] = conditions
	return result
}
