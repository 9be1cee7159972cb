package policystatus

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
	"github.com/ambit-dev/ambit/pkg/policysource/registry"
)

// Reported is a condition as logs and events report it.
type Reported struct {
	Condition
	// CleanupBlocked: the policy is cleaned up after, and that cannot go on.
	CleanupBlocked bool
}

// IsReported reports whether the condition Ready of a policy stands on its object already.
func IsReported(object *unstructured.Unstructured, p registry.PolicyState, now Reported) bool {
	if p.Origin.Kind == manifest.ConfigMap {
		return slices.ContainsFunc(summariesOn(object), func(s Summary) bool {
			return s.Key == p.Origin.Key && s.Policy == p.Name && s.Ready == (now.Status == True) && s.Reason == now.Reason
		})
	}
	was := ConditionOn(object, v1alpha1.ConditionReady)
	blocked := IsCleanupReason(now.Reason) && ConditionOn(object, v1alpha1.ConditionStalled)["status"] == True
	return was["status"] == now.Status && was["reason"] == now.Reason && blocked == now.CleanupBlocked && was["observedGeneration"] == p.Generation
}

// IsDenialReported reports whether the condition Permitted of a policy stands on its object already.
func IsDenialReported(object *unstructured.Unstructured, p registry.PolicyState, now Reported) bool {
	if p.Origin.Kind == manifest.ConfigMap {
		list := summariesOn(object)
		i := slices.IndexFunc(list, func(s Summary) bool { return s.Key == p.Origin.Key && s.Policy == p.Name })
		return i >= 0 && list[i].Denied == (now.Status == False)
	}
	return ConditionOn(object, v1alpha1.ConditionPermitted)["status"] == now.Status
}

// ConditionOn returns a condition of a custom resource; nil if it has not got it.
func ConditionOn(object *unstructured.Unstructured, kind string) map[string]any {
	status, _ := object.Object["status"].(map[string]any)
	list, _ := status["conditions"].([]any)
	for _, c := range list {
		if was, ok := c.(map[string]any); ok && conditionType(c) == kind {
			return was
		}
	}
	return nil
}
