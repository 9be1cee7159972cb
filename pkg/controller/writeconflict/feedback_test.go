package writeconflict

import (
	"testing"
	"time"

	"github.com/ambit-dev/ambit/pkg/plan"
)

// TestFeedback: once the writes are used up the same is held back for ever, something else until the
// backoff is over, and nothing once there is a new spec.
func TestFeedback(t *testing.T) {
	var f Feedback
	now := time.Unix(1000, 0)
	write := func(text string) UnstableWrite {
		return UnstableWrite{Before: map[string]any{"step": "before"}, After: map[string]any{"step": text}, Text: text}
	}
	held := func(when, text string, want bool) (problem *plan.Problem, again time.Time) {
		t.Helper()
		problem, again = f.HoldBack(write(text), growingWait, now)
		if (problem != nil) != want {
			t.Errorf("%s: %q is held back for %v", when, text, problem)
		}
		return problem, again
	}
	for i := range feedbackWrites {
		if f.IsUsedUp(1) {
			t.Fatalf("%d writes are used up", i)
		}
		f.RecordWrite(1)
	}
	if !f.IsUsedUp(1) {
		t.Fatal("the writes are never used up")
	}
	first, _ := held("at first", "a", true)
	for range 100 {
		now = now.Add(time.Minute)
		if problem, again := held("later", "a", true); problem != first || !again.IsZero() {
			t.Fatalf("the same is said anew, or tried at %s", again)
		}
	}
	f.ResetWrites()
	held("at rest for a while", "a", true)
	_, again := held("at once", "b", true)
	if again.IsZero() || again.Sub(now) > NewsWait {
		t.Errorf("something else is tried at %s", again)
	}
	now = again
	held("after the backoff", "b", false)
	if f.IsUsedUp(1) {
		t.Error("what is tried is not counted anew")
	}
	for range feedbackWrites {
		f.RecordWrite(1)
	}
	if !f.IsUsedUp(1) || f.IsUsedUp(2) {
		t.Error("a new spec does not begin anew, or an old one does")
	}
}
