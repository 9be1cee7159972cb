package status

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/plan"
)

// BenchmarkUnchanged is what it costs to see that a status is as a plan wants it.
func BenchmarkUnchanged(b *testing.B) {
	planned := &plan.Plan{Status: map[string]any{"size": int64(3), "state": map[string]any{"word": "Ready"}}}
	for _, kind := range []string{"Mine", "Permitted", "Ready"} {
		planned.Conditions = append(planned.Conditions, metav1.Condition{Type: kind, Status: "True", Reason: "R", Message: "all children exist and are ready", ObservedGeneration: 1})
	}
	owner := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"generation": int64(1)}}}
	p := program(b)
	owner.Object["status"] = NextStatus(owner, p, planned, now)
	b.ReportAllocs()
	for b.Loop() {
		if !Equal(StatusOf(owner), NextStatus(owner, p, planned, now)) {
			b.Fatal("it has changed")
		}
	}
}
