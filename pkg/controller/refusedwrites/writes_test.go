package refusedwrites

import (
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/plan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// seconds waits a second more after each failure.
func seconds(failures int) time.Duration { return time.Duration(failures+1) * time.Second }

func text(s string) func() string { return func() string { return s } }

// TestHeldBack: the same write waits for its backoff, another does not, and no write waits when the
// permissions have changed since.
func TestHeldBack(t *testing.T) {
	now := time.Unix(1000, 0)
	before, after := &permissionset.Set{}, &permissionset.Set{}
	var w Writes
	if _, isHeldBack := w.CurrentProblem("web", text("w"), before, now); isHeldBack || w.HasRefusal("web") {
		t.Error("what was never tried is held back")
	}
	w.RecordRefusal("web", Refusal{Write: "w", Problem: plan.Problem{Message: "no"}, Permissions: before}, seconds, now)
	cases := map[string]struct {
		reason      string
		key, write  string
		permissions *permissionset.Set
		later       time.Duration
		want        bool
	}{
		"Same":             {reason: "the same write, soon after", key: "web", write: "w", permissions: before, later: time.Second - 1, want: true},
		"OtherWrite":       {reason: "another write may go through", key: "web", write: "x", permissions: before},
		"OtherKey":         {reason: "of another child nothing was refused", key: "db", write: "w", permissions: before},
		"OtherPermissions": {reason: "permissions have changed", key: "web", write: "w", permissions: after},
		"NoPermissions":    {reason: "they are not known any more", key: "web", write: "w"},
		"Later":            {reason: "the backoff is over", key: "web", write: "w", permissions: before, later: time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			problem, isHeldBack := w.CurrentProblem(tc.key, text(tc.write), tc.permissions, now.Add(tc.later))
			if isHeldBack != tc.want || isHeldBack && problem.Message != "no" {
				t.Errorf("%s: got %q, %t", tc.reason, problem.Message, isHeldBack)
			}
		})
	}
	w.ForgetRefusal("web")
	if _, isHeldBack := w.CurrentProblem("web", text("w"), before, now); isHeldBack || w.HasRefusal("web") {
		t.Error("what was accepted is held back")
	}
}

// TestTextOnDemand: what a write says is made only if there is something to compare it with.
func TestTextOnDemand(t *testing.T) {
	var w Writes
	w.RecordRefusal("db", Refusal{Write: "w"}, seconds, time.Unix(1000, 0))
	w.CurrentProblem("web", func() string { t.Error("a large text is made for nothing"); return "" }, nil, time.Unix(1000, 0))
}

// TestBackoff: how long a key waits after each of several refusals, and which of them are news.
func TestBackoff(t *testing.T) {
	type step struct {
		write, message string
		atLeast        time.Duration
		isAccepted     bool // before it
		isNews         bool
		wait           time.Duration
	}
	cases := map[string]struct {
		reason string
		steps  []step
	}{
		"SameWrite": {reason: "a write that is tried again and again waits longer", steps: []step{
			{write: "w", message: "no", isNews: true, wait: time.Second}, {write: "w", message: "no", wait: 2 * time.Second}, {write: "w", message: "no", wait: 3 * time.Second}}},
		"OtherReason": {reason: "so it does if the reason changes, which is news", steps: []step{
			{write: "w", message: "no", isNews: true, wait: time.Second}, {write: "w", message: "never", isNews: true, wait: 2 * time.Second}}},
		"Turns": {reason: "and if two writes take turns", steps: []step{
			{write: "w", message: "no", isNews: true, wait: time.Second}, {write: "x", message: "no", wait: 2 * time.Second}, {write: "w", message: "no", wait: 3 * time.Second}}},
		"OtherAltogether": {reason: "another write that fails otherwise begins anew", steps: []step{
			{write: "w", message: "no", isNews: true, wait: time.Second}, {write: "w", message: "no", wait: 2 * time.Second}, {write: "x", message: "never", isNews: true, wait: time.Second}}},
		"Accepted": {reason: "as does what was accepted in between", steps: []step{
			{write: "w", message: "no", isNews: true, wait: time.Second}, {write: "w", message: "no", isAccepted: true, isNews: true, wait: time.Second}}},
		"AtLeast": {reason: "a review has to come first, unless the backoff is longer", steps: []step{
			{write: "w", message: "no", atLeast: 2 * time.Second, isNews: true, wait: 2 * time.Second}, {write: "w", message: "no", atLeast: 2 * time.Second, wait: 2 * time.Second},
			{write: "w", message: "no", atLeast: 2 * time.Second, wait: 3 * time.Second}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var w Writes
			now := time.Unix(1000, 0)
			for i, s := range tc.steps {
				if s.isAccepted {
					w.ForgetRefusal("web")
				}
				isNews := w.RecordRefusal("web", Refusal{Write: s.write, Problem: plan.Problem{Message: s.message}, AtLeast: s.atLeast}, seconds, now)
				at, isRefused := w.NextTry("web")
				if isNews != s.isNews || !isRefused || at.Sub(now) != s.wait {
					t.Errorf("%s: step %d: news: %t, wait %s; want %t, %s", tc.reason, i+1, isNews, at.Sub(now), s.isNews, s.wait)
				}
				now = at
			}
		})
	}
}

// TestForgotten: of keys that change from reconcile to reconcile, each refused, only those are
// remembered that were tried a short while ago. One that is tried at its time is never forgotten.
func TestForgotten(t *testing.T) {
	var w Writes
	now := time.Unix(1000, 0)
	for child := range 100 {
		w.RecordRefusal(fmt.Sprintf("child-%d", child), Refusal{Write: "w"}, seconds, now)
		now = now.Add(memory + time.Minute)
	}
	if len(w.byKey) != 1 {
		t.Errorf("%d refusals are remembered", len(w.byKey))
	}
	if _, isRefused := w.NextTry("child-0"); isRefused {
		t.Error("what was tried long ago is remembered")
	}
	for range 20 {
		w.RecordRefusal("web", Refusal{Write: "w"}, func(int) time.Duration { return memory }, now)
		now, _ = w.NextTry("web")
		now = now.Add(memory)
	}
	if n := w.byKey["web"].failures; n != 19 {
		t.Errorf("%d failures are remembered", n)
	}
}
