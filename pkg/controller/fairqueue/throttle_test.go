package fairqueue

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

func TestThrottle(t *testing.T) {
	enter := func(want time.Duration) func(*testing.T, *Throttle, time.Time) {
		return func(t *testing.T, throttle *Throttle, now time.Time) {
			t.Helper()
			if wait := throttle.TryEnter(now); wait != want {
				t.Errorf("at %s it is to wait for %s, want %s", now.Sub(start()), wait, want)
			}
		}
	}
	charge := func(used time.Duration) func(*testing.T, *Throttle, time.Time) {
		return func(_ *testing.T, throttle *Throttle, _ time.Time) { throttle.ChargeTime(used) }
	}
	leave := func(_ *testing.T, throttle *Throttle, now time.Time) { throttle.LeaveAndPause(now) }
	type step struct {
		at time.Duration
		do func(*testing.T, *Throttle, time.Time)
	}
	cases := map[string]struct {
		reason string
		steps  []step
	}{
		"OneAtATime": {
			reason: "nobody else enters until the one inside has left",
			steps:  []step{{0, enter(0)}, {0, enter(occupiedRetry)}, {time.Hour, enter(occupiedRetry)}, {time.Hour, leave}, {time.Hour, enter(0)}},
		},
		"Pause": {
			reason: "after a second of work all wait for nine",
			steps: []step{
				{0, enter(0)}, {0, charge(time.Second)}, {time.Second, leave},
				{time.Second, enter(9 * time.Second)}, {4 * time.Second, enter(6 * time.Second)}, {10 * time.Second, enter(0)},
			},
		},
		"Charges": {
			reason: "all evaluations of a reconcile are charged",
			steps:  []step{{0, enter(0)}, {0, charge(time.Second)}, {0, charge(2 * time.Second)}, {0, leave}, {0, enter(27 * time.Second)}},
		},
		"WaitingIsFree": {
			reason: "what is charged is the time of expressions, not that of requests",
			steps:  []step{{0, enter(0)}, {time.Hour, leave}, {time.Hour, enter(0)}},
		},
		"ChargedOnce": {
			reason: "a charge is settled by one pause",
			steps: []step{
				{0, enter(0)}, {0, charge(time.Second)}, {0, leave},
				{9 * time.Second, enter(0)}, {9 * time.Second, leave}, {9 * time.Second, enter(0)},
			},
		},
		"ChargedFromOutside": {
			reason: "an owner that became expensive only while it was evaluated is charged as well",
			steps:  []step{{0, charge(time.Second)}, {0, enter(0)}, {0, leave}, {0, enter(9 * time.Second)}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			var throttle Throttle
			for _, s := range tc.steps {
				s.do(t, &throttle, start().Add(s.at))
			}
		})
	}
}

// TestThrottleBoundsTime: whoever enters whenever it is admitted, and whatever each takes,
// all together use at most a tenth of the time, but for the last one.
func TestThrottleBoundsTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var throttle Throttle
		var used time.Duration
		now := start()
		for range rapid.IntRange(1, 30).Draw(t, "reconciles") {
			if wait := throttle.TryEnter(now); wait > 0 {
				if now = now.Add(wait); throttle.TryEnter(now) != 0 {
					t.Fatalf("after the wait of %s it waits again", wait)
				}
			}
			if elapsed := now.Sub(start()); used > elapsed/(1+pauseFactor) {
				t.Fatalf("in %s, %s are used", elapsed, used)
			}
			took := time.Duration(rapid.IntRange(0, 5000).Draw(t, "took")) * time.Millisecond
			idle := time.Duration(rapid.IntRange(0, 1000).Draw(t, "idle")) * time.Millisecond
			throttle.ChargeTime(took)
			used += took
			now = now.Add(took + idle)
			throttle.LeaveAndPause(now)
		}
	})
}

// TestThrottleAdmitsOneWorker: of many workers that try at once, one is inside.
func TestThrottleAdmitsOneWorker(t *testing.T) {
	var throttle Throttle
	var admitted atomic.Int64
	var workers sync.WaitGroup
	for range 20 {
		workers.Go(func() {
			if throttle.TryEnter(start()) == 0 {
				admitted.Add(1)
			}
		})
	}
	workers.Wait()
	if n := admitted.Load(); n != 1 {
		t.Errorf("%d workers are inside", n)
	}
}

func TestSlowOwnersAreExpensive(t *testing.T) {
	x := types.NamespacedName{Name: "x"}
	cases := map[string]struct {
		reason string
		slow   []time.Duration // when an evaluation was slow, the last one last
		want   bool
	}{
		"Never":         {reason: "an owner nothing is known of is not expensive"},
		"Once":          {reason: "one slow evaluation may be the machine's fault", slow: []time.Duration{0}},
		"Interrupted":   {reason: "so may two in a row", slow: []time.Duration{0, slowApart - 1}},
		"Again":         {reason: "some time apart they are the owner's", slow: []time.Duration{0, slowApart}, want: true},
		"AgainAndAgain": {reason: "it stays expensive", slow: []time.Duration{0, slowApart / 2, slowApart, slowApart + 1}, want: true},
		"LongAgo":       {reason: "the first one is forgotten by then", slow: []time.Duration{0, slowMemory + 1}},
		"Seldom":        {reason: "each is within the memory of the one before", slow: []time.Duration{0, slowMemory, 2 * slowMemory}, want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var costs CostHistory
			last := start()
			for _, after := range tc.slow {
				last = start().Add(after)
				costs.RecordSlow(x, last)
			}
			if got := costs.IsExpensive(x, last.Add(slowMemory)); got != tc.want {
				t.Errorf("%s; expensive: %t", tc.reason, got)
			}
			if costs.IsExpensive(types.NamespacedName{Name: "other"}, last) {
				t.Error("another owner is expensive as well")
			}
			if costs.IsExpensive(x, last.Add(slowMemory+1)) {
				t.Error("it is expensive for longer than it should be")
			}
			successor := costs.ForNextRevision()
			if successor.IsExpensive(x, last) {
				t.Error("an edit of the policy may have mended it")
			}
			if costs.ForgetOwner(x); costs.IsExpensive(x, last) {
				t.Error("it is expensive though it is gone")
			}
		})
	}
}

// TestCostHistoryDropsOwners: owners that are gone unnoticed do not stay for ever.
func TestCostHistoryDropsOwners(t *testing.T) {
	var costs CostHistory
	now := start()
	for i := range 100 {
		costs.RecordSlow(ownerOf(i), now)
		now = now.Add(slowMemory + 1)
	}
	if n := len(costs.slow); n != 1 {
		t.Errorf("%d owners are remembered", n)
	}
}

// TestExceededLimitsAreExpensive: after one owner has exceeded a limit all of the policy's
// are expensive for a while, also after an edit of the policy.
func TestExceededLimitsAreExpensive(t *testing.T) {
	var costs CostHistory
	if costs.IsExpensive(ownerOf(0), start()) {
		t.Error("expensive from the beginning")
	}
	costs.RecordExceeded(start())
	costs.ForgetOwner(ownerOf(0))
	for name, history := range map[string]CostHistory{"Same": costs, "Edited": costs.ForNextRevision()} {
		t.Run(name, func(t *testing.T) {
			if !history.IsExpensive(ownerOf(1), start().Add(exceededMemory)) {
				t.Error("not expensive")
			}
			if history.IsExpensive(ownerOf(1), start().Add(exceededMemory+1)) {
				t.Error("expensive for longer than it should be")
			}
		})
	}
}
