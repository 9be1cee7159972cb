package telemetry

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/fairqueue"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// fakeMetrics notes what it is told, as text.
type fakeMetrics struct{ told []string }

func (f *fakeMetrics) ObserveReconcile(s ReconcileSample) {
	f.told = append(f.told, fmt.Sprintf("reconcile %s %s %s", s.Policy, s.Result, s.Took))
}

func (f *fakeMetrics) ObserveWrite(s WriteSample) {
	f.told = append(f.told, fmt.Sprintf("write %s %s", s.Resource.Resource, s.Outcome))
}

func (f *fakeMetrics) ObserveLatency(s LatencySample) {
	f.told = append(f.told, fmt.Sprintf("latency %s %s", s.For, s.Took))
}

// TestReconcile: a reconcile is measured from its beginning, the wait for a write from the first event on
// and once, and the wait for rights from one reconcile to another.
func TestReconcile(t *testing.T) {
	now := time.Unix(1000, 0)
	metrics := &fakeMetrics{}
	telemetry := New(metrics, nil, func() time.Time { return now })
	key := fairqueue.Key{Policy: "p", Namespace: "n", Name: "x"}
	var missing time.Time
	lacking := &plan.Plan{Blockers: []plan.Problem{{Denied: []v1alpha1.DeniedAccess{{Verb: "list"}}}}}
	reconcile := func(planned *plan.Plan, result string) {
		ctx, r := telemetry.BeginReconcile(telemetry.WithEvent(context.Background(), key), key)
		now = now.Add(time.Second)
		for _, outcome := range []string{OutcomeCreated, OutcomeRefused} {
			_, end := r.BeginWrite(ctx, "create", "pods", "n")
			end(outcome)
		}
		r.ObserveWrite(schema.GroupResource{Resource: "pods"}, OutcomeCreated)
		r.EndReconcile(result)
		r.ObserveRights(planned, &missing)
	}
	telemetry.RecordEvent(key)
	now = now.Add(time.Second)
	telemetry.RecordEvent(key) // the first one counts
	reconcile(lacking, ResultStalled)
	now = now.Add(time.Minute)
	reconcile(&plan.Plan{}, ResultReady) // without an event
	want := []string{
		"latency write 2s", "write pods created", "reconcile p stalled 1s",
		"write pods created", "reconcile p ready 1s", "latency rights 1m1s",
	}
	if !slices.Equal(metrics.told, want) {
		t.Errorf("told are\n%q\nwant\n%q", metrics.told, want)
	}
}

// TestNobodyMeasures: without metrics and a tracer nothing is kept, and all calls are harmless.
func TestNobodyMeasures(t *testing.T) {
	telemetry := New(nil, nil, time.Now)
	key := fairqueue.Key{Policy: "p", Name: "x"}
	telemetry.RecordEvent(key)
	if ctx := t.Context(); telemetry.WithEvent(ctx, key) != ctx || telemetry.IsMeasured() {
		t.Error("something is measured")
	}
	ctx, r := telemetry.BeginReconcile(t.Context(), key)
	_, end := r.BeginPlan(ctx)
	end(&plan.Plan{})
	r.EndReconcile(ResultError)
	_, done := telemetry.WritesOnly("p").BeginWrite(t.Context(), "patch", "pods", "n")
	done(OwnerOutcome(true))
	telemetry.WritesOnly("p").EndReconcile(ResultReady)
}
