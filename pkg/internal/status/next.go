// Package status turns what a plan says about an owner into the owner's next
// status, and writes it: once per pass, as one patch against what was read,
// and not at all when nothing changed.
//
// Of the status, Ambit touches the fields that the policy's template names,
// observedGeneration, and the conditions of its own and of the policy's types.
// Everything else in the status belongs to others and stays.
package status

import (
	"math"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// NextStatus returns the status that the owner should have: the old one, with the
// fields and conditions that are the policy's replaced by the plan's. now
// becomes the lastTransitionTime of conditions whose status changed. The owner
// and the plan are not changed; the result shares nothing with the owner.
//
// A plan without conditions (suspended, being deleted) has nothing to say: the
// result then equals the old status. A partial plan speaks of Ambit's own
// conditions only, and so does the plan of an owner that is being deleted: for it
// no expression of the policy is evaluated.
func NextStatus(owner *unstructured.Unstructured, program *policy.Program, p *plan.Plan, now time.Time) map[string]any {
	old := StatusOf(owner)
	if p.Conditions == nil {
		return runtime.DeepCopyJSON(old)
	}
	next := make(map[string]any, len(old)+2)
	for key, value := range old {
		if key != "conditions" { // they are merged below
			next[key] = runtime.DeepCopyJSONValue(value)
		}
	}
	partial := p.Partial || owner.GetDeletionTimestamp() != nil
	if program.Status != nil && !partial {
		removePaths(next, program.Status.FieldsSet())
	}
	mergeMaps(next, asRead(p.Status))
	var ours map[string]bool
	if !partial {
		ours = ownedTypes(program)
	}
	next["conditions"] = mergeConditions(old, ours, p.Conditions, now)
	if generation := owner.GetGeneration(); generation != 0 && keepsObservedGeneration(old) {
		next["observedGeneration"] = generation
	}
	return next
}

// StatusOf returns the status of an object, never nil; it is the object's own.
func StatusOf(owner *unstructured.Unstructured) map[string]any {
	if status, ok := owner.Object["status"].(map[string]any); ok {
		return status
	}
	return map[string]any{}
}

// HasCondition says whether an owner has a condition of that type.
func HasCondition(owner *unstructured.Unstructured, kind string) bool {
	return Condition(StatusOf(owner), kind) != nil
}

// Condition returns the condition of that type, as it is in the status; nil if there is
// none.
func Condition(status map[string]any, kind string) map[string]any {
	for _, c := range listOf(status["conditions"]) {
		if condition, ok := c.(map[string]any); ok && condition["type"] == kind {
			return condition
		}
	}
	return nil
}

// keepsObservedGeneration is false when the owner's schema is seen to have no
// status.observedGeneration: conditions were written before, by us and with it,
// and the field is not there. Writing it again would be a write at each pass.
func keepsObservedGeneration(old map[string]any) bool {
	if _, ok := old["observedGeneration"]; ok {
		return true
	}
	return Condition(old, v1alpha1.ConditionReady) == nil
}

func ownedTypes(program *policy.Program) map[string]bool {
	types := map[string]bool{}
	for _, c := range program.Conditions {
		types[c.Type] = true
	}
	return types
}

// mergeConditions returns the old conditions in their places, ours as planned, and
// then those that are new. Places are kept, because two writers that each put
// theirs last would never come to rest.
func mergeConditions(old map[string]any, ours map[string]bool, planned []metav1.Condition, now time.Time) []any {
	result := make([]any, 0, len(planned))
	placed := map[string]bool{}
	for _, c := range listOf(old["conditions"]) {
		before, ok := c.(map[string]any)
		if !ok {
			continue
		}
		kind, _ := before["type"].(string)
		i := slices.IndexFunc(planned, func(p metav1.Condition) bool { return p.Type == kind })
		switch {
		case i >= 0 && !placed[kind]:
			placed[kind] = true
			result = append(result, conditionMap(planned[i], before, now))
		case i < 0 && !ours[kind] && !v1alpha1.IsReservedCondition(kind):
			result = append(result, runtime.DeepCopyJSONValue(before))
		}
	}
	for _, c := range planned {
		if !placed[c.Type] {
			result = append(result, conditionMap(c, nil, now))
		}
	}
	return result
}

// conditionMap is a planned condition as it is written, after the one that was
// there before; nil for none.
func conditionMap(c metav1.Condition, before map[string]any, now time.Time) map[string]any {
	since, isKnown := "", false
	if before["status"] == string(c.Status) {
		since, isKnown = before["lastTransitionTime"].(string)
	}
	if !isKnown {
		since = now.UTC().Format(time.RFC3339)
	}
	result := map[string]any{
		"type": c.Type, "status": string(c.Status), "reason": c.Reason, "message": c.Message,
		"lastTransitionTime": since,
	}
	// A condition that came back without it has a schema without it.
	_, kept := before["observedGeneration"]
	if c.ObservedGeneration != 0 && (before == nil || kept) {
		result["observedGeneration"] = c.ObservedGeneration
	}
	return result
}

// asRead returns a copy of what a template gave as it comes back from the API
// server: without nulls, and whole numbers as integers.
func asRead(m map[string]any) map[string]any {
	result := make(map[string]any, len(m))
	for key, value := range m {
		if value != nil {
			result[key] = valueAsRead(value)
		}
	}
	return result
}

func valueAsRead(value any) any {
	switch v := value.(type) {
	case map[string]any:
		return asRead(v)
	case []any:
		l := make([]any, len(v))
		for i, element := range v {
			l[i] = valueAsRead(element)
		}
		return l
	case float64:
		if whole := int64(v); float64(whole) == v && math.Abs(v) < 1<<53 {
			return whole
		}
	}
	return value
}

// removePaths takes every field that paths cover out of m.
func removePaths(m map[string]any, paths *fields.Set) {
	for key, value := range m {
		if paths.CoversPath(key) {
			delete(m, key)
			continue
		}
		if below, ok := value.(map[string]any); ok {
			if sub := paths.SetBelow(key); sub != nil {
				removePaths(below, sub)
			}
		}
	}
}

// mergeMaps puts from, which it takes over, into m; maps are merged, everything else
// is replaced.
func mergeMaps(m, from map[string]any) {
	for key, value := range from {
		below, isMap := value.(map[string]any)
		into, hasMap := m[key].(map[string]any)
		if isMap && hasMap {
			mergeMaps(into, below)
			continue
		}
		m[key] = value
	}
}

func listOf(v any) []any {
	l, _ := v.([]any)
	return l
}

// SaysSame is Equal but for the times of conditions: it says whether two statuses
// say the same.
func SaysSame(a, b map[string]any) bool {
	return Equal(WithoutTimes(a), WithoutTimes(b))
}

// WithoutTimes returns a copy of a status without the times of its conditions.
func WithoutTimes(status map[string]any) map[string]any {
	result := make(map[string]any, len(status))
	for key, value := range status {
		result[key] = value
	}
	conditions := make([]any, 0, len(listOf(status["conditions"])))
	for _, c := range listOf(status["conditions"]) {
		if condition, ok := runtime.DeepCopyJSONValue(c).(map[string]any); ok {
			delete(condition, "lastTransitionTime")
			conditions = append(conditions, condition)
		}
	}
	result["conditions"] = conditions
	return result
}
