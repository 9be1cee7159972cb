package policystatus

import (
	"encoding/json"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
	"github.com/ambit-dev/ambit/pkg/policysource/registry"
)

// maxDenied is how many denied accesses a status lists.
const maxDenied = 32

// StatusPatch returns the merge patch of a custom resource's status that makes it say
// what is to be said; nil if it does. It holds only for the object as it was read.
func StatusPatch(object *unstructured.Unstructured, s Status, now time.Time) ([]byte, error) {
	before, _ := object.Object["status"].(map[string]any)
	after := nextStatus(before, s, object.GetGeneration(), now)
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
		// Not of one that was made anew: the API server does not look at a uid in a patch of a status.
		"metadata": map[string]any{"resourceVersion": object.GetResourceVersion()},
		"status":   patch,
	})
}

// nextStatus is the status after before, which is not changed. Fields without a value are
// not in it, as in what an API server answers; the counts have one, 0 too.
func nextStatus(before map[string]any, s Status, generation int64, now time.Time) map[string]any {
	after := map[string]any{
		"conditions": nextConditions(before, s, generation, now),
		"owners":     int64(s.Owners), "deniedCount": int64(len(s.Denied)),
	}
	if generation != 0 {
		after["observedGeneration"] = generation
	}
	if len(s.Denied) > 0 {
		after["denied"] = deniedList(s.Denied)
	}
	return after
}

func deniedList(denied []v1alpha1.DeniedAccess) []any {
	list := []any{}
	for _, a := range denied[:min(len(denied), maxDenied)] {
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

// nextConditions are the conditions after those that are there: Ambit's own first, then
// all of others as they are.
func nextConditions(before map[string]any, s Status, generation int64, now time.Time) []any {
	old, _ := before["conditions"].([]any)
	list := []any{}
	put := func(kind string, c Condition) {
		if c.Status != "" {
			list = append(list, nextCondition(old, kind, c, generation, now))
		}
	}
	put(v1alpha1.ConditionValid, s.Valid)
	put(v1alpha1.ConditionPermitted, s.Permitted)
	put(v1alpha1.ConditionReady, s.Ready)
	if s.Stalled {
		put(v1alpha1.ConditionStalled, Condition{True, s.Ready.Reason, s.Ready.Message})
	}
	for _, c := range old {
		if !isOwnCondition(conditionType(c)) {
			list = append(list, c)
		}
	}
	return list
}

// nextCondition is a condition with its times: that of its transition is kept while the
// status is the same.
func nextCondition(old []any, kind string, c Condition, generation int64, now time.Time) map[string]any {
	since := metav1.NewTime(now).UTC().Format(time.RFC3339)
	for _, o := range old {
		was, _ := o.(map[string]any)
		if conditionType(o) == kind && was["status"] == c.Status {
			if at, ok := was["lastTransitionTime"].(string); ok {
				since = at
			}
		}
	}
	made := map[string]any{"type": kind, "status": c.Status, "reason": c.Reason, "message": manifest.TruncateText(c.Message, manifest.MaxMessage), "lastTransitionTime": since}
	if generation != 0 {
		made["observedGeneration"] = generation
	}
	return made
}

func conditionType(condition any) string {
	c, _ := condition.(map[string]any)
	kind, _ := c["type"].(string)
	return kind
}

func isOwnCondition(kind string) bool {
	switch kind {
	case v1alpha1.ConditionValid, v1alpha1.ConditionPermitted, v1alpha1.ConditionReady, v1alpha1.ConditionStalled:
		return true
	}
	return false
}

// FinalizerPatch returns the merge patch of a custom resource that puts the finalizer on
// it or takes it off; nil if it is as wanted, or needs nothing. The patch holds only for
// the object as it was read: its list of finalizers is written as a whole.
func FinalizerPatch(object *unstructured.Unstructured, d registry.PolicyState) ([]byte, error) {
	list := slices.Clone(object.GetFinalizers())
	has := slices.Contains(list, v1alpha1.FinalizerCleanup)
	switch {
	case !has && object.GetDeletionTimestamp() == nil && needsFinalizer(d):
		list = append(list, v1alpha1.FinalizerCleanup)
	case has && object.GetDeletionTimestamp() != nil && d.CleanedUp:
		list = slices.DeleteFunc(list, func(f string) bool { return f == v1alpha1.FinalizerCleanup })
	default:
		return nil, nil
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": string(object.GetUID()), "resourceVersion": object.GetResourceVersion(), "finalizers": list,
	}})
}

// needsFinalizer reports whether a policy is to be cleaned up after when it is deleted.
func needsFinalizer(d registry.PolicyState) bool {
	return d.AwaitsFinalizer || d.Program != nil && d.Program.CleanupOnly == nil && !d.Retiring && !d.Missing && !d.Deleting
}
