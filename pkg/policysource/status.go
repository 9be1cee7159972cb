package policysource

import (
	"encoding/json"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// mostDenied is how many denied accesses a status lists.
const mostDenied = 32

// statusPatch returns the merge patch of a custom resource's status that makes it say
// what is to be said; nil if it does.
func statusPatch(object *unstructured.Unstructured, s said, now time.Time) ([]byte, error) {
	before, _ := object.Object["status"].(map[string]any)
	after := statusOf(before, s, object.GetGeneration(), now)
	patch := map[string]any{}
	for field, value := range after {
		if !reflect.DeepEqual(before[field], value) {
			patch[field] = value
		}
	}
	for field := range before {
		if _, kept := after[field]; !kept {
			patch[field] = nil
		}
	}
	if len(patch) == 0 {
		return nil, nil
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": string(object.GetUID())}, // not of one that was made anew
		"status":   patch,
	})
}

// statusOf is the status after before, which is not changed. Fields without a value are
// not in it, as in what an API server answers; the counts have one, 0 too.
func statusOf(before map[string]any, s said, generation int64, now time.Time) map[string]any {
	after := map[string]any{
		"conditions": conditionsOf(before, s, generation, now),
		"owners":     int64(s.owners), "deniedCount": int64(len(s.denied)),
	}
	if generation != 0 {
		after["observedGeneration"] = generation
	}
	if len(s.denied) > 0 {
		after["denied"] = deniedOf(s.denied)
	}
	return after
}

func deniedOf(denied []v1alpha1.DeniedAccess) []any {
	list := []any{}
	for _, a := range denied[:min(len(denied), mostDenied)] {
		item := map[string]any{"verb": a.Verb, "resource": a.Resource}
		for field, value := range map[string]string{"group": a.Group, "namespace": a.Namespace, "name": a.Name, "message": a.Message} {
			if value != "" {
				item[field] = value
			}
		}
		list = append(list, item)
	}
	return list
}

// conditionsOf are the conditions after those that are there: Ambit's own first, then
// all of others as they are.
func conditionsOf(before map[string]any, s said, generation int64, now time.Time) []any {
	old, _ := before["conditions"].([]any)
	list := []any{}
	put := func(kind string, c condition) {
		if c.status != "" {
			list = append(list, conditionOf(old, kind, c, generation, now))
		}
	}
	put(v1alpha1.ConditionValid, s.valid)
	put(v1alpha1.ConditionPermitted, s.permitted)
	put(v1alpha1.ConditionReady, s.ready)
	if s.stalled {
		put(v1alpha1.ConditionStalled, condition{isTrue, s.ready.reason, s.ready.message})
	}
	for _, c := range old {
		if !isOwn(typeOf(c)) {
			list = append(list, c)
		}
	}
	return list
}

// conditionOf is a condition with its times: that of its transition is kept while the
// status is the same.
func conditionOf(old []any, kind string, c condition, generation int64, now time.Time) map[string]any {
	since := metav1.NewTime(now).UTC().Format(time.RFC3339)
	for _, o := range old {
		was, _ := o.(map[string]any)
		if typeOf(o) == kind && was["status"] == c.status {
			if at, ok := was["lastTransitionTime"].(string); ok {
				since = at
			}
		}
	}
	made := map[string]any{"type": kind, "status": c.status, "reason": c.reason, "message": shortened(c.message, mostMessage), "lastTransitionTime": since}
	if generation != 0 {
		made["observedGeneration"] = generation
	}
	return made
}

func typeOf(condition any) string {
	c, _ := condition.(map[string]any)
	kind, _ := c["type"].(string)
	return kind
}

func isOwn(kind string) bool {
	switch kind {
	case v1alpha1.ConditionValid, v1alpha1.ConditionPermitted, v1alpha1.ConditionReady, v1alpha1.ConditionStalled:
		return true
	}
	return false
}
