package controller

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// TestOtherStays: another policy on the owner has a moment to clean up; then somebody has to act,
// unless that policy is being retired.
func TestOtherStays(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	a, b := compiled(t, "a", "1", ""), compiled(t, "b", "1", "")
	e := idle(t, clock, a, b)
	op := e.revisions.CurrentOf("ambit-system/a")
	p := op.newOwnerReconciler(nil, newOwnerState(op.subscriberFor(types.NamespacedName{Name: "x"})), false)
	foreign := &plan.Plan{Foreign: "b", Blockers: []plan.Problem{{Reason: v1alpha1.ReasonOtherPolicy}}}
	p.recordOtherPolicy(foreign)
	if wait := p.requeueAfter(foreign); p.otherStays() || wait != otherGrace {
		t.Errorf("at first it stays: %t, and is looked at in %s", p.otherStays(), wait)
	}
	clock.Step(otherGrace)
	p.recordOtherPolicy(foreign)
	if !p.otherStays() {
		t.Error("after a moment nobody has to act")
	}
	if err := e.Set([]*policy.Program{a}, []*policy.Program{b}); err != nil {
		t.Fatal(err)
	}
	if p.otherStays() {
		t.Error("somebody has to act though it is being retired")
	}
	p.recordOtherPolicy(&plan.Plan{})
	if p.otherStays() || p.state.other != (otherPolicy{}) {
		t.Errorf("it has let go, and %+v is remembered", p.state.other)
	}
}
