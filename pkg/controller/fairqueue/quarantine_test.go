package fairqueue

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// ownerOf returns the name of one of many owners.
func ownerOf(i int) types.NamespacedName { return types.NamespacedName{Name: fmt.Sprint(i)} }

func TestQuarantineOfAnOwner(t *testing.T) {
	var q Quarantine
	now, owner := start(), ownerOf(0)
	for _, want := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, ownerWaitMax, ownerWaitMax} {
		wait, tripped := q.RecordExceeded(owner, "1", 1, now)
		if wait != want || tripped || q.WaitTime(owner, "1", now) != want {
			t.Fatalf("it waits for %s, want %s; the policy waits: %t", wait, want, tripped)
		}
		if wait := q.WaitTime(owner, "2", now); wait != changedOwnerWait {
			t.Errorf("an owner that has changed waits for %s", wait)
		}
		if wait := q.WaitTime(ownerOf(1), "1", now); wait != 0 {
			t.Errorf("another owner waits for %s", wait)
		}
		now = now.Add(want)
		if wait := q.WaitTime(owner, "1", now); wait != 0 {
			t.Errorf("when its time is over it waits for %s", wait)
		}
	}
	q.RecordSuccess(owner)
	if wait, _ := q.RecordExceeded(owner, "1", 1, now); wait != ownerWaitMin {
		t.Errorf("after a success it waits for %s", wait)
	}
}

// exceedAll has so many owners of so many exceed a limit, and reports whether that
// tripped their policy.
func exceedAll(q *Quarantine, failing, ownerCount int, now time.Time) (tripped bool) {
	for i := range failing {
		_, did := q.RecordExceeded(ownerOf(i), "1", ownerCount, now)
		tripped = tripped || did
	}
	return tripped
}

func TestQuarantineTrips(t *testing.T) {
	cases := map[string]struct {
		reason              string
		failing, ownerCount int
		want                bool
	}{
		"One":            {reason: "one owner never stops its policy", failing: 1, ownerCount: 1},
		"TooFew":         {reason: "fewer than PolicyTripsAt do not stop it, even if they are all", failing: PolicyTripsAt - 1, ownerCount: PolicyTripsAt - 1},
		"All":            {reason: "nothing in the policy works", failing: PolicyTripsAt, ownerCount: PolicyTripsAt, want: true},
		"Half":           {reason: "half of the owners are enough", failing: PolicyTripsAt, ownerCount: 2 * PolicyTripsAt, want: true},
		"LessThanHalf":   {reason: "a few do not stop the others", failing: PolicyTripsAt, ownerCount: 2*PolicyTripsAt + 1},
		"ManyOfMore":     {reason: "less than half is a few, however many", failing: 100, ownerCount: 201},
		"ManyAndTheRest": {reason: "the one that reaches half trips it", failing: 101, ownerCount: 201, want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var q Quarantine
			if got := exceedAll(&q, tc.failing, tc.ownerCount, start()); got != tc.want || q.PolicyWait(start()) > 0 != tc.want {
				t.Errorf("%s; tripped: %t, and waits for %s", tc.reason, got, q.PolicyWait(start()))
			}
		})
	}
}

// TestQuarantineTripsByThoseThatWait: owners whose wait is over do not count.
func TestQuarantineTripsByThoseThatWait(t *testing.T) {
	var q Quarantine
	exceedAll(&q, PolicyTripsAt-1, PolicyTripsAt, start())
	if _, tripped := q.RecordExceeded(ownerOf(PolicyTripsAt), "1", PolicyTripsAt, start().Add(ownerWaitMin)); tripped {
		t.Error("they did not exceed limits at a time")
	}
}

func TestQuarantineOfAPolicy(t *testing.T) {
	var q Quarantine
	now, other := start(), types.NamespacedName{Name: "other"}
	for _, want := range []time.Duration{policyWaitMin, 2 * policyWaitMin, 4 * policyWaitMin, 8 * policyWaitMin, policyWaitMax, policyWaitMax} {
		if !exceedAll(&q, PolicyTripsAt, 2*PolicyTripsAt, now) || q.WaitTime(other, "1", now) != want || q.PolicyWait(now) != want {
			t.Fatalf("all owners wait for %s, want %s", q.WaitTime(other, "1", now), want)
		}
		if exceedAll(&q, PolicyTripsAt, 2*PolicyTripsAt, now) || q.PolicyWait(now) != want {
			t.Errorf("those that were underway trip it again: it waits for %s", q.PolicyWait(now))
		}
		now = now.Add(q.PolicyWait(now))
		if q.PolicyWait(now) != 0 {
			t.Errorf("when its time is over it waits for %s", q.PolicyWait(now))
		}
	}
	now = now.Add(2 * policyWaitMax)
	if !exceedAll(&q, PolicyTripsAt, 2*PolicyTripsAt, now) || q.PolicyWait(now) != policyWaitMin {
		t.Errorf("after a calm time they wait for %s", q.PolicyWait(now))
	}
}

func TestQuarantineEndsForOthersFirst(t *testing.T) {
	var q Quarantine
	exceedAll(&q, PolicyTripsAt, PolicyTripsAt+1, start())
	over := start().Add(policyWaitMin)
	if wait := q.WaitTime(types.NamespacedName{Name: "other"}, "1", over); wait != 0 {
		t.Errorf("an owner that exceeded no limit waits for %s", wait)
	}
	for _, version := range []string{"1", "2"} {
		if wait := q.WaitTime(ownerOf(0), version, over); wait != othersFirst {
			t.Errorf("one that did, now at version %s, waits for %s", version, wait)
		}
	}
}

// TestQuarantineForgets: owners that are gone do not stay for ever, though nobody has seen
// them go.
func TestQuarantineForgets(t *testing.T) {
	var q Quarantine
	now := start()
	for i := range 100 {
		q.RecordExceeded(ownerOf(i), "1", 1000, now)
		now = now.Add(ownerWaitMin + ownerMemory + 1)
	}
	if n := len(q.owners); n != 1 {
		t.Errorf("%d owners are remembered", n)
	}
}

// TestQuarantineOfNobody: when all owners that exceeded limits are forgotten, nobody waits.
func TestQuarantineOfNobody(t *testing.T) {
	var q Quarantine
	exceedAll(&q, PolicyTripsAt, PolicyTripsAt, start())
	for i := range PolicyTripsAt {
		if wait := q.WaitTime(types.NamespacedName{Name: "other"}, "1", start()); wait == 0 {
			t.Errorf("with %d of them left nobody waits", PolicyTripsAt-i)
		}
		q.RecordSuccess(ownerOf(i))
	}
	if wait := q.WaitTime(types.NamespacedName{Name: "other"}, "1", start()); wait != 0 {
		t.Errorf("an owner waits for %s", wait)
	}
}

// TestQuarantineIsBounded: whatever happens, an owner waits no longer than the longest waits
// allow, waiting until then is enough, and an owner without a failure waits for its
// policy alone.
func TestQuarantineIsBounded(t *testing.T) {
	const owners = 8
	rapid.Check(t, func(t *rapid.T) {
		var q Quarantine
		failed := map[int]bool{}
		now := start()
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			i := rapid.IntRange(0, owners-1).Draw(t, "owner")
			if rapid.IntRange(0, 3).Draw(t, "succeeds") == 0 {
				q.RecordSuccess(ownerOf(i))
				delete(failed, i)
			} else {
				q.RecordExceeded(ownerOf(i), "1", owners, now)
				failed[i] = true
			}
			for i := range owners {
				wait := q.WaitTime(ownerOf(i), "1", now)
				if wait < 0 || wait > max(ownerWaitMax, policyWaitMax+othersFirst) {
					t.Fatalf("owner %d waits for %s", i, wait)
				}
				// The policy's wait hides the rest of an owner's own.
				if later := now.Add(max(wait, ownerWaitMax, q.PolicyWait(now)+othersFirst)); q.WaitTime(ownerOf(i), "1", later) != 0 {
					t.Fatalf("owner %d waits still", i)
				}
				if !failed[i] && wait > q.PolicyWait(now) {
					t.Fatalf("owner %d did not fail, and waits for %s", i, wait)
				}
			}
			now = now.Add(time.Duration(rapid.IntRange(0, 120).Draw(t, "seconds")) * time.Second)
		}
	})
}

func TestDoubledWait(t *testing.T) {
	cases := map[string]struct {
		reason      string
		first, last time.Duration
		failures    int
		want        time.Duration
	}{
		"First":    {reason: "before the first failure it is the first wait", first: 30, last: 600, want: 30},
		"Doubled":  {reason: "each failure doubles it", first: 30, last: 600, failures: 3, want: 240},
		"Last":     {reason: "it does not exceed the last wait", first: 30, last: 600, failures: 5, want: 600},
		"Overflow": {reason: "many failures do not overflow", first: time.Minute, last: time.Hour, failures: 1 << 20, want: time.Hour},
		"Constant": {reason: "the bounds may be equal", first: 30, last: 30, failures: 2, want: 30},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := doubledWait(tc.first, tc.last, tc.failures); got != tc.want {
				t.Errorf("%s: got %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}
