package controller

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/fairqueue"
)

// TestSlowPlansAreExpensive: that the filter is quick each time does not make up for plans
// that take long.
func TestSlowPlansAreExpensive(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	op := idle(t, clock, compiled(t, "a", "1", "")).revisions.CurrentOf("ambit-system/a")
	x := types.NamespacedName{Name: "x"}
	evaluates := func(took time.Duration) {
		began := clock.Now()
		clock.Step(took)
		op.recordEvaluation(x, began)
	}
	for range 2 {
		evaluates(slowEvaluation - 1) // the filter
		evaluates(slowEvaluation)     // the plan
		clock.Step(time.Second)
	}
	if !op.costs.IsExpensive(x, clock.Now()) {
		t.Error("it is not throttled")
	}
	if op.forgetOwner(x); op.costs.IsExpensive(x, clock.Now()) {
		t.Error("it is not forgotten with the owner")
	}
}

// TestQuarantineWait: an owner that exceeded a limit waits, unless it is to be cleaned up
// after.
func TestQuarantineWait(t *testing.T) {
	owner := func(change func(*unstructured.Unstructured)) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		u.SetResourceVersion("1")
		change(u)
		return u
	}
	cases := map[string]struct {
		reason   string
		owner    *unstructured.Unstructured
		retiring bool
		waits    bool
	}{
		"Same":     {reason: "the same plan would exceed the limit again", owner: owner(func(*unstructured.Unstructured) {}), waits: true},
		"Changed":  {reason: "a change is looked at, but not at once", owner: owner(func(u *unstructured.Unstructured) { u.SetResourceVersion("2") }), waits: true},
		"Gone":     {reason: "nothing is planned for it"},
		"Deleting": {reason: "cleaning up does not wait", owner: owner(func(u *unstructured.Unstructured) { u.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)}) })},
		"Retiring": {reason: "a policy that goes cleans up", owner: owner(func(*unstructured.Unstructured) {}), retiring: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			op := idle(t, clocktesting.NewFakeClock(time.Unix(1000, 0)), compiled(t, "a", "1", "")).revisions.CurrentOf("ambit-system/a")
			op.retiring = tc.retiring
			x := types.NamespacedName{Namespace: "n", Name: "x"}
			if wait := (ownerTurn{op}).quarantineWait(x, tc.owner); wait != 0 {
				t.Errorf("it waits for %s before it has exceeded a limit", wait)
			}
			op.recordExceeded(x, "1")
			if wait := (ownerTurn{op}).quarantineWait(x, tc.owner); wait > 0 != tc.waits {
				t.Errorf("%s: it waits for %s", tc.reason, wait)
			}
		})
	}
}

// TestEnterThrottle: expensive owners of all policies are worked on one at a time and with
// pauses; others are not kept waiting, nor are those of a policy that goes.
func TestEnterThrottle(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	e := idle(t, clock, compiled(t, "a", "1", ""), compiled(t, "b", "1", ""), compiled(t, "c", "1", ""))
	a, b, quick := e.revisions.CurrentOf("ambit-system/a"), e.revisions.CurrentOf("ambit-system/b"), e.revisions.CurrentOf("ambit-system/c")
	x := types.NamespacedName{Namespace: "n", Name: "x"}
	a.recordExceeded(x, "1")
	b.recordExceeded(x, "1")
	leave, wait := ownerTurn{a}.enterThrottle(x)
	if wait != 0 {
		t.Fatalf("the first one waits for %s", wait)
	}
	if _, wait := (ownerTurn{b}).enterThrottle(x); wait == 0 {
		t.Error("one of another policy enters as well")
	}
	if _, wait := (ownerTurn{quick}).enterThrottle(x); wait != 0 {
		t.Errorf("one that is not expensive waits for %s", wait)
	}
	began := clock.Now()
	clock.Step(time.Second)
	a.recordEvaluation(x, began)
	quick.recordEvaluation(x, began)
	leave()
	if _, wait := (ownerTurn{b}).enterThrottle(x); wait < 9*time.Second || wait >= 9*time.Second+throttleJitter {
		t.Errorf("after a second of work the next one waits for %s", wait)
	}
	b.retiring = true
	if _, wait := (ownerTurn{b}).enterThrottle(x); wait != 0 {
		t.Errorf("cleaning up waits for %s", wait)
	}
	b.retiring = false
	clock.Step(9 * time.Second)
	if _, wait := (ownerTurn{b}).enterThrottle(x); wait != 0 {
		t.Errorf("after the pause it waits for %s", wait)
	}
}

// TestPolicyQuarantine: a policy of which many owners exceed limits says that it waits, and
// for how long.
func TestPolicyQuarantine(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	op := idle(t, clock, compiled(t, "a", "1", "")).revisions.CurrentOf("ambit-system/a")
	for i := range fairqueue.PolicyTripsAt {
		if problem, wait := (policyTurn{op}).policyQuarantine(); problem != nil || wait != 0 {
			t.Fatalf("with %d owners: %+v for %s", i, problem, wait)
		}
		op.recordExceeded(types.NamespacedName{Name: fmt.Sprint(i)}, "1")
	}
	problem, wait := policyTurn{op}.policyQuarantine()
	if problem == nil || problem.Reason != v1alpha1.ReasonQuarantined || wait != time.Minute {
		t.Fatalf("%+v for %s", problem, wait)
	}
	clock.Step(wait)
	if problem, wait := (policyTurn{op}).policyQuarantine(); problem != nil || wait != 0 {
		t.Errorf("when it is over: %+v for %s", problem, wait)
	}
}
