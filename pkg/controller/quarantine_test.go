package controller

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestQuarantineOfAnOwner(t *testing.T) {
	var q quarantine
	now, name := time.Unix(1000, 0), types.NamespacedName{Name: "a"}
	for _, want := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, limitedMax, limitedMax} {
		wait, held := q.exceeded(name, "1", 1, now)
		if wait != want || held || q.wait(name, "1", now) != want {
			t.Fatalf("it waits for %s, want %s; the policy is held: %t", wait, want, held)
		}
		if wait := q.wait(name, "2", now); wait != limitedChanged {
			t.Errorf("an owner that has changed waits for %s", wait)
		}
		if wait := q.wait(types.NamespacedName{Name: "b"}, "1", now); wait != 0 {
			t.Errorf("another owner waits for %s", wait)
		}
		now = now.Add(want)
	}
	q.forget(name)
	if wait, _ := q.exceeded(name, "1", 1, now); wait != limitedMin {
		t.Errorf("after a success it waits for %s", wait)
	}
}

func TestQuarantineOfAPolicy(t *testing.T) {
	var q quarantine
	now := time.Unix(1000, 0)
	exceed := func() (held bool) {
		for i := range heldByOwners {
			_, h := q.exceeded(types.NamespacedName{Name: fmt.Sprint(i)}, "1", 2*heldByOwners, now)
			held = held || h
		}
		return held
	}
	for _, want := range []time.Duration{heldMin, 2 * heldMin, 4 * heldMin, 8 * heldMin, heldMax, heldMax} {
		if !exceed() || q.wait(types.NamespacedName{Name: "other"}, "1", now) != want {
			t.Fatalf("all owners wait for %s, want %s", q.wait(types.NamespacedName{Name: "other"}, "1", now), want)
		}
		now = q.until
	}
	now = now.Add(2 * heldMax)
	if !exceed() || q.until.Sub(now) != heldMin {
		t.Errorf("after a calm time they wait for %s", q.until.Sub(now))
	}
}

func TestQuarantineOfAFew(t *testing.T) {
	var q quarantine
	now := time.Unix(1000, 0)
	for i := range heldByOwners {
		if _, held := q.exceeded(types.NamespacedName{Name: fmt.Sprint(i)}, "1", 2*heldByOwners+1, now); held {
			t.Errorf("less than half of the owners hold the policy")
		}
	}
}

func TestQuarantineEndsForOthersFirst(t *testing.T) {
	var q quarantine
	now := time.Unix(1000, 0)
	for i := range heldByOwners {
		q.exceeded(types.NamespacedName{Name: fmt.Sprint(i)}, "1", heldByOwners+1, now)
	}
	if wait := q.wait(types.NamespacedName{Name: "other"}, "1", q.until); wait != 0 {
		t.Errorf("an owner that ran into no limit waits for %s", wait)
	}
	for _, version := range []string{"1", "2"} {
		if wait := q.wait(types.NamespacedName{Name: "0"}, version, q.until); wait != heldFirst {
			t.Errorf("one that did, now at version %s, waits for %s", version, wait)
		}
	}
}

// TestSlowOwnersAreStrained: who takes long again works in the lane for a while, whatever was
// quick in between; who was interrupted for some time does not.
func TestSlowOwnersAreStrained(t *testing.T) {
	start, x := time.Unix(1000, 0), types.NamespacedName{Name: "x"}
	cases := map[string]struct {
		slow []time.Duration // when expressions over it took long, the last one last
		want bool
	}{
		"Once":          {slow: []time.Duration{0}},
		"Interrupted":   {slow: []time.Duration{0, laneApart - 1}},
		"Again":         {slow: []time.Duration{0, laneApart}, want: true},
		"AgainAndAgain": {slow: []time.Duration{0, laneApart / 2, laneApart, laneApart + 1}, want: true},
		"LongAgo":       {slow: []time.Duration{0, laneSlowMemory + 1}},
		"Seldom":        {slow: []time.Duration{0, laneSlowMemory, 2 * laneSlowMemory}, want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var q quarantine
			var last time.Time
			for _, after := range tc.slow {
				last = start.Add(after)
				q.slowed(x, last)
			}
			if got := q.isStrained(x, last.Add(laneSlowMemory)); got != tc.want {
				t.Errorf("is to be worked on in the lane: %t", got)
			}
			if q.isStrained(types.NamespacedName{Name: "other"}, last) || q.isStrained(x, last.Add(laneSlowMemory+1)) {
				t.Error("another one is as well, or it for longer than it should be")
			}
		})
	}
}

// TestSlowPlansAreStrained: that the filter is quick each time does not make up for plans
// that take long.
func TestSlowPlansAreStrained(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	op := idle(t, clock, compiled(t, "a", "1", "")).versions.get("ambit-system/a")
	x := types.NamespacedName{Name: "x"}
	evaluates := func(took time.Duration) {
		began := clock.Now()
		clock.Step(took)
		op.evaluated(x, began)
	}
	for range 2 {
		evaluates(laneSlow - 1) // the filter
		evaluates(laneSlow)     // the plan
		clock.Step(laneApart)
	}
	if !op.quarantine.isStrained(x, clock.Now()) {
		t.Error("it is not worked on in the lane")
	}
	if op.forget(x); op.quarantine.isStrained(x, clock.Now()) {
		t.Error("it is not forgotten with the owner")
	}
}

func TestLane(t *testing.T) {
	var l lane
	now := time.Unix(1000, 0)
	if wait := l.enter(now); wait != 0 {
		t.Fatalf("the first waits for %s", wait)
	}
	if wait := l.enter(now); wait < laneRetry {
		t.Errorf("the second waits for %s", wait)
	}
	l.spend(time.Second)
	l.leave(now.Add(time.Second))
	if wait := l.enter(now.Add(time.Second)); wait < laneRest*time.Second {
		t.Errorf("after a second of work the next waits for %s", wait)
	}
	if wait := l.enter(now.Add(time.Second + laneRest*time.Second)); wait != 0 {
		t.Errorf("and then for %s", wait)
	}
}

// TestQuarantineForgets: owners that are gone, though nobody has seen them go, do not stay
// for ever.
func TestQuarantineForgets(t *testing.T) {
	q, now := quarantine{}, time.Unix(1000, 0)
	for i := range 100 {
		q.exceeded(types.NamespacedName{Name: fmt.Sprint(i)}, "1", 1000, now)
		now = now.Add(limitedMin + limitedMemory + 1)
	}
	if n := len(q.owners); n != 1 {
		t.Errorf("%d owners are remembered", n)
	}
}
