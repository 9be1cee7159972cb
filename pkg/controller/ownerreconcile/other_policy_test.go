package ownerreconcile

import (
	"testing"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// TestOtherStays: another policy on the owner has a moment to clean up; then somebody has to act,
// unless that policy is being retired.
func TestOtherStays(t *testing.T) {
	b := newBench(t, "")
	isRetired := false
	b.options.IsRetired = func(string) bool { return isRetired }
	p := b.begin(nil)
	foreign := &plan.Plan{Foreign: "b", Blockers: []plan.Problem{{Reason: v1alpha1.ReasonOtherPolicy}}}
	p.recordOtherPolicy(foreign)
	if wait := p.RequeueAfter(foreign); (snapshotReader{p}).otherStays() || wait != otherGrace {
		t.Errorf("at first it stays: %t, and is looked at in %s", (snapshotReader{p}).otherStays(), wait)
	}
	b.clock.Step(otherGrace)
	p.recordOtherPolicy(foreign)
	if !(snapshotReader{p}).otherStays() {
		t.Error("after a moment nobody has to act")
	}
	isRetired = true
	if (snapshotReader{p}).otherStays() {
		t.Error("somebody has to act though it is being retired")
	}
	p.recordOtherPolicy(&plan.Plan{})
	if (snapshotReader{p}).otherStays() || p.state.other != (otherPolicy{}) {
		t.Errorf("it has let go, and %+v is remembered", p.state.other)
	}
}
