package engine

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
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

// TestSlowOwnersAreStrained: who takes long again and again works in the lane for a while;
// who was interrupted once does not.
func TestSlowOwnersAreStrained(t *testing.T) {
	now, slow := time.Unix(1000, 0), types.NamespacedName{Name: "slow"}
	cases := map[string]struct {
		plans []time.Duration // each a second after the one before
		want  bool
	}{
		"Once":        {plans: []time.Duration{laneSlow}},
		"TwiceInARow": {plans: []time.Duration{laneSlow, laneSlow}, want: true},
		"NotInARow":   {plans: []time.Duration{laneSlow, laneSlow - 1, laneSlow}},
		"QuickInside": {plans: []time.Duration{laneSlow, laneSlow, 0}, want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var q quarantine
			last := now
			for i, took := range tc.plans {
				at := now.Add(time.Duration(i) * time.Second)
				if q.planned(slow, took, at); took >= laneSlow {
					last = at
				}
			}
			if got := q.isStrained(slow, last.Add(laneSlowMemory)); got != tc.want {
				t.Errorf("is worked on in the lane: %t", got)
			}
			if q.isStrained(types.NamespacedName{Name: "other"}, last) || q.isStrained(slow, last.Add(laneSlowMemory+1)) {
				t.Error("another one is worked on there, or this one for longer than it should be")
			}
			if q.planned(slow, laneSlow, last.Add(laneSlowMemory+1)); q.isStrained(slow, last.Add(laneSlowMemory+1)) {
				t.Error("it is not forgotten")
			}
		})
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
