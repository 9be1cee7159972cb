package plan

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// Stalled returns a partial plan without actions that says of the owner only that
// it is stalled, beside what this plan says of its permissions. The engine writes
// it when the API server refuses the status that this plan has.
func (p *Plan) Stalled(reason, message string) *Plan {
	message = shorten(message, maxMessage)
	conditions := slices.DeleteFunc(slices.Clone(p.Conditions), func(c metav1.Condition) bool {
		return c.Type != v1alpha1.ConditionPermitted
	})
	conditions = append(conditions,
		metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: message},
		metav1.Condition{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: reason, Message: message})
	slices.SortFunc(conditions, func(a, b metav1.Condition) int { return cmp.Compare(a.Type, b.Type) })
	for i := range conditions {
		conditions[i].ObservedGeneration = p.generation()
	}
	return &Plan{Partial: true, Conditions: conditions, RequeueAfter: p.RequeueAfter, Children: p.Children}
}

// generation is that of the owner that the plan was made for.
func (p *Plan) generation() int64 {
	if len(p.Conditions) == 0 {
		return 0
	}
	return p.Conditions[0].ObservedGeneration
}
