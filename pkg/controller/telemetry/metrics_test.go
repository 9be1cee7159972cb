package telemetry

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/internal/apply"
	"github.com/ambit-dev/ambit/pkg/plan"
)

func TestOutcomeOf(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"resourceVersion": "7"}}}
	for name, test := range map[string]struct {
		reason  string
		action  plan.Action
		outcome apply.Outcome
		want    string
	}{
		"created":        {"there is a new object", plan.Action{Verb: plan.Create}, apply.Outcome{Object: object}, OutcomeCreated},
		"met":            {"a create that met our own object wrote nothing", plan.Action{Verb: plan.Create}, apply.Outcome{Object: object, Met: true}, OutcomeUnchanged},
		"adopted":        {"a create that took over is a change of what was there", plan.Action{Verb: plan.Create}, apply.Outcome{Object: object, Adopted: true}, OutcomeUpdated},
		"applied":        {"another version than was observed", plan.Action{Verb: plan.Apply, ResourceVersion: "6"}, apply.Outcome{Object: object}, OutcomeUpdated},
		"applied again":  {"the same version as was observed", plan.Action{Verb: plan.Apply, ResourceVersion: "7"}, apply.Outcome{Object: object}, OutcomeUnchanged},
		"behind":         {"nothing was written", plan.Action{Verb: plan.Apply}, apply.Outcome{Stale: true}, OutcomeUnchanged},
		"deleted":        {"the object is gone", plan.Action{Verb: plan.Delete}, apply.Outcome{Deleted: true}, OutcomePruned},
		"on its way out": {"its deletion has begun", plan.Action{Verb: plan.Delete}, apply.Outcome{Object: object}, OutcomePruned},
		"refused":        {"the API server did not take it", plan.Action{Verb: plan.Delete}, apply.Outcome{Problem: &plan.Problem{}}, OutcomeRefused},
	} {
		t.Run(name, func(t *testing.T) {
			if got := OutcomeOf(test.action, test.outcome); got != test.want {
				t.Errorf("%s: got %q, want %q", test.reason, got, test.want)
			}
		})
	}
}
