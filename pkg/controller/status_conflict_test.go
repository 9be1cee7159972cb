package controller

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// TestContest: one who writes over the status at once, each time, for an hour.
func TestContest(t *testing.T) {
	cases := map[string]struct {
		reason         string
		says           func(turn int) string
		minute, atMost int // writes in the first minute, and in the hour
	}{
		"TheSame": {
			reason: "the wait grows to about a minute",
			says:   func(int) string { return "ready" }, minute: 8, atMost: 70,
		},
		"Flipping": {
			reason: "to want now this and now that is no way round",
			says:   func(turn int) string { return []string{"ready", "conflict"}[turn%2] }, minute: 16, atMost: 730,
		},
		"AlwaysNew": {
			reason: "nor is a counter",
			says:   func(turn int) string { return time.Duration(turn).String() }, minute: 16, atMost: 730,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var c statusConflict
			began := time.Unix(1000, 0)
			now, writes, minute, longest := began, 0, 0, time.Duration(0)
			for now.Sub(began) < time.Hour {
				wait := c.waitToWrite(tc.says(writes), now)
				if longest = max(longest, wait); wait > 0 {
					now = now.Add(wait)
					continue
				}
				c.recordWrite(tc.says(writes), testBackoff, now)
				now = now.Add(time.Millisecond)
				if writes++; now.Sub(began) < time.Minute {
					minute++
				}
			}
			if minute > tc.minute || writes > tc.atMost || writes < 50 {
				t.Errorf("%s: %d writes in a minute, want at most %d, and %d in an hour, want at most %d", tc.reason, minute, tc.minute, writes, tc.atMost)
			}
			if longest > 73*time.Second {
				t.Errorf("the longest wait was %s: if the other stops, our word stands too late", longest)
			}
		})
	}
}

// TestContestLost: a write that comes too late waits as one that was done does, but what it was
// to say is still news.
func TestContestLost(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	e := idle(t, clock, compiled(t, "a", "1", ""))
	op := e.revisions.currentOf("ambit-system/a")
	p := op.newOwnerReconciler(nil, newOwnerState(op.subscriberFor(types.NamespacedName{Name: "x"})), false)
	for range 10 {
		p.recordStatusConflict("a", nil)
	}
	p.recordStatusConflict("b", apierrors.NewConflict(schema.GroupResource{}, "x", nil))
	p.recordStatusConflict("c", apierrors.NewBadRequest("it has a backoff of its own"))
	p.recordStatusConflict("", nil)
	c, now := &p.state.statusConflict, clock.Now()
	if c.writes != 11 || c.waitToWrite("a", now) < retryMax || c.waitToWrite("b", now) != contestNews {
		t.Errorf("%d writes, the old one waits %s and the new one %s", c.writes, c.waitToWrite("a", now), c.waitToWrite("b", now))
	}
}

// TestContestEnds: a first contested write waits for nothing, nor one after a time in which
// our word stood; what is news waits less.
func TestContestEnds(t *testing.T) {
	var c statusConflict
	now := time.Unix(1000, 0)
	if wait := c.waitToWrite("a", now); wait != 0 {
		t.Errorf("the first waits %s", wait)
	}
	for range 20 {
		c.recordWrite("a", testBackoff, now)
	}
	if wait := c.waitToWrite("a", now); wait < retryMax {
		t.Errorf("the same waits %s", wait)
	}
	if wait := c.waitToWrite("b", now); wait != contestNews {
		t.Errorf("news waits %s", wait)
	}
	if wait := c.waitToWrite("b", now.Add(contestNews)); wait != 0 {
		t.Errorf("news waits another %s", wait)
	}
	if c.until.Sub(now) >= contestOver {
		t.Errorf("it is over while a write waits until %s later", c.until.Sub(now))
	}
	now = now.Add(contestOver)
	if wait := c.waitToWrite("a", now); wait != 0 {
		t.Errorf("after a long time it waits %s", wait)
	}
	c.recordWrite("a", testBackoff, now)
	if wait := c.waitToWrite("a", now); wait > time.Second {
		t.Errorf("a second contest begins with a wait of %s", wait)
	}
}

// TestContested: who writes other fields and conditions does not contest ours; nor does one
// who notes the latest generation first, or has written before we have said anything.
func TestContested(t *testing.T) {
	e := idle(t, clocktesting.NewFakeClock(time.Unix(1000, 0)), compiled(t, "a", "1", "  conditions: [{type: Mine, status: 'true'}]"))
	op := e.revisions.currentOf("ambit-system/a")
	says := func(condition, status string, more ...any) map[string]any {
		c := map[string]any{"type": condition, "status": status, "lastTransitionTime": "2026-01-01T00:00:00Z"}
		return map[string]any{"conditions": append([]any{c}, more...)}
	}
	noted := func(status map[string]any, generation int64) map[string]any {
		status["observedGeneration"] = generation
		return status
	}
	owner := &unstructured.Unstructured{}
	owner.SetGeneration(2)
	theirs := map[string]any{"type": "Theirs", "status": "True"}
	cases := map[string]struct {
		reason    string
		kept, old map[string]any
		want      bool
	}{
		"Stands":    {reason: "it is as we wrote it", kept: says("Ready", "True"), old: says("Ready", "True")},
		"Other":     {reason: "another condition was added", kept: says("Ready", "True"), old: says("Ready", "True", theirs)},
		"Ours":      {reason: "ours was changed", kept: says("Ready", "True"), old: says("Ready", "False"), want: true},
		"Policy":    {reason: "that of the policy was changed", kept: says("Mine", "True"), old: says("Mine", "False"), want: true},
		"WipedAway": {reason: "there is nothing left", kept: says("Ready", "True"), old: map[string]any{}, want: true},
		"Noted":     {reason: "another controller has noted the latest generation", kept: noted(says("Ready", "True"), 1), old: noted(says("Ready", "True"), 2)},
		"Misnoted":  {reason: "somebody has noted what is not so", kept: noted(says("Ready", "True"), 1), old: noted(says("Ready", "True"), 0), want: true},
		"Unsaid":    {reason: "we have not said anything", old: says("Ready", "False")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			state := newOwnerState(op.subscriberFor(types.NamespacedName{Name: "x"}))
			state.status.kept = tc.kept
			p := op.newOwnerReconciler(owner, state, false)
			if got := p.statusConflictOf(tc.old, says(v1alpha1.ConditionReady, "True")); (got != "") != tc.want {
				t.Errorf("%s: contested %t", tc.reason, got != "")
			}
		})
	}
}

// TestContestIsOver: an owner whose status was fought over is looked at again when our word has
// stood for long enough, and not after that.
func TestContestIsOver(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	e := idle(t, clock, compiled(t, "a", "1", ""))
	op := e.revisions.currentOf("ambit-system/a")
	state := newOwnerState(op.subscriberFor(types.NamespacedName{Name: "x"}))
	again := func() time.Duration {
		p := op.newOwnerReconciler(nil, state, false)
		p.confirmStatus(t.Context())
		return p.requeueAfter(&plan.Plan{})
	}
	state.statusConflict.recordWrite("a", testBackoff, clock.Now())
	if wait := again(); wait != 0 {
		t.Errorf("after a single one it is looked at in %s", wait)
	}
	state.statusConflict.told = true
	clock.Step(time.Second)
	if wait := again(); wait != contestOver-time.Second {
		t.Errorf("it is looked at in %s", wait)
	}
	clock.Step(contestOver)
	if wait := again(); wait != 0 || state.statusConflict != (statusConflict{}) {
		t.Errorf("it is looked at in %s, with %+v", wait, state.statusConflict)
	}
}
