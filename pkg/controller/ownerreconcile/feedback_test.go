package ownerreconcile

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/writeconflict"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// feedbackWorld writes the status of one owner in virtual time, as a controller does.
type feedbackWorld struct {
	*bench
	owner    *unstructured.Unstructured
	lastPlan *plan.Plan // of the last reconcile
}

func newFeedbackWorld(t *testing.T) *feedbackWorld {
	t.Helper()
	owner := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{}}}
	owner.SetGeneration(1)
	return &feedbackWorld{bench: newBench(t, "  status: {step: \"${owner.?status.?step.orValue(0) + 1}\"}"), owner: owner}
}

// pass plans that the step is to be what next says, until that says the same, or is stalled. It
// returns how many writes that took, and what was said in place of another write.
func (w *feedbackWorld) pass(next func(step int64) int64) (writes int, stalled *plan.Plan, again time.Duration) {
	planned := &plan.Plan{Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}}}
	for writes < 1000 {
		p := w.begin(w.owner)
		old, _ := w.owner.Object["status"].(map[string]any)
		step, _ := old["step"].(int64)
		wanted := map[string]any{"step": next(step)}
		stalled = statusWriter{p}.unstablePlan(planned, old, wanted)
		w.lastPlan = p.LastPlan()
		if stalled == nil && next(step) != step {
			statusWriter{p}.noteFeedback(old, wanted)
			w.owner.Object["status"] = wanted
			writes++
		}
		if again = p.RequeueAfter(planned); again != time.Millisecond {
			break
		}
		w.clock.Step(again)
	}
	return writes, stalled, again
}

// TestStatusFeedback: a status that the policy reads is written until it comes to rest, 10 times
// at most, whatever else happens; who changes the spec has it tried anew.
func TestStatusFeedback(t *testing.T) {
	count := func(most int64) func(int64) int64 { return func(step int64) int64 { return min(step+1, most) } }
	t.Run("Bounded", func(t *testing.T) {
		w := newFeedbackWorld(t)
		if writes, stalled, _ := w.pass(count(10)); writes != 10 || stalled != nil {
			t.Errorf("%d writes, stalled: %v", writes, stalled)
		}
		for range 5 {
			if writes, stalled, again := w.pass(count(10)); writes != 0 || stalled != nil || again != 0 {
				t.Errorf("at rest there are %d writes, stalled: %v, and it is looked at in %s", writes, stalled, again)
			}
		}
	})
	t.Run("Endless", func(t *testing.T) {
		w := newFeedbackWorld(t)
		endless := count(1 << 40)
		writes, stalled, again := w.pass(endless)
		if writes != 10 || stalled == nil || again != 0 {
			t.Fatalf("%d writes, stalled: %v, looked at in %s", writes, stalled, again)
		}
		if got := stalled.Blockers[0]; got.Reason != v1alpha1.ReasonUnstable || !strings.Contains(got.Message, "owner.status.step is 10, and is to be 11") || !strings.Contains(got.Message, "10 times") {
			t.Errorf("it says %+v", got)
		}
		if w.lastPlan != stalled {
			t.Errorf("the owner counts as %v", w.lastPlan)
		}
		for range 100 { // events of others
			w.clock.Step(time.Minute)
			if writes, stalled, again := w.pass(endless); writes != 0 || stalled == nil || again != 0 {
				t.Fatalf("an event leads to %d writes, stalled: %v, looked at in %s", writes, stalled, again)
			}
		}
		w.owner.SetGeneration(2)
		if writes, stalled, _ := w.pass(endless); writes != 10 || stalled == nil {
			t.Errorf("a new spec leads to %d writes, stalled: %v", writes, stalled)
		}
	})
	t.Run("OtherInput", func(t *testing.T) {
		w := newFeedbackWorld(t)
		w.pass(count(1 << 40))
		w.clock.Step(time.Millisecond)
		// What a watch shows has changed since: the status would come to rest at 7.
		rests := func(int64) int64 { return 7 }
		writes, stalled, again := w.pass(rests)
		if writes != 0 || stalled == nil || again == 0 || again > writeconflict.NewsWait {
			t.Fatalf("at once there are %d writes, stalled: %v, looked at in %s", writes, stalled, again)
		}
		w.clock.Step(again)
		if writes, stalled, again := w.pass(rests); writes != 1 || stalled != nil || again != 0 {
			t.Errorf("after the backoff there are %d writes, stalled: %v, looked at in %s", writes, stalled, again)
		}
	})
}

// TestFeedbackUnread: a status that the policy does not read is written as ever.
func TestFeedbackUnread(t *testing.T) {
	b := newBench(t, "  status: {step: \"${owner.spec.step}\"}")
	p := b.begin(&unstructured.Unstructured{Object: map[string]any{}})
	for i := range int64(100) {
		old, next := map[string]any{"step": i}, map[string]any{"step": i + 1}
		stalled := statusWriter{p}.unstablePlan(&plan.Plan{Conditions: []metav1.Condition{{}}}, old, next)
		if stalled != nil {
			t.Fatalf("write %d: %+v", i, stalled)
		}
		statusWriter{p}.noteFeedback(old, next)
	}
	if !p.requeueTime.IsZero() {
		t.Error("it is planned again")
	}
}
