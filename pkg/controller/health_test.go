package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/ambit-dev/ambit/pkg/controller/telemetry"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// TestHealth: an owner fares as the blocker says that its plan names first, and each is counted once.
func TestHealth(t *testing.T) {
	waits, stuck := plan.Problem{Message: "it waits"}, plan.Problem{Message: "somebody has to act", Terminal: true}
	e := idle(t, clocktesting.NewFakeClock(time.Unix(1000, 0)), compiled(t, "a", "1", ""), compiled(t, "b", "1", ""))
	turn := ownerTurn{e.revisions.CurrentOf("ambit-system/a")}
	for name, tc := range map[string]struct {
		blockers []plan.Problem
		result   string
	}{
		"none":       {result: telemetry.ResultReady},
		"waits":      {[]plan.Problem{waits}, telemetry.ResultProgressing},
		"stuck":      {[]plan.Problem{stuck}, telemetry.ResultStalled},
		"stuckFirst": {[]plan.Problem{stuck, waits}, telemetry.ResultStalled},
		"waitsFirst": {[]plan.Problem{waits, stuck}, telemetry.ResultProgressing},
	} {
		planned := &plan.Plan{Blockers: tc.blockers}
		if got := healthOf(planned).reconcileResult(); got != tc.result {
			t.Errorf("%s: the reconcile is %s, want %s", name, got, tc.result)
		}
		state, ok := turn.ownerStateOf(types.NamespacedName{Namespace: "home", Name: name}, ownerOf(types.UID(name)), nil)
		if !ok {
			t.Fatalf("%s has no state", name)
		}
		turn.recordHealth(state, planned)
		turn.recordHealth(state, planned) // as at each reconcile
	}
	turn.ownerStateOf(types.NamespacedName{Namespace: "home", Name: "new"}, ownerOf("new"), nil)
	want := []Owners{{Policy: "ambit-system/a", Ready: 1, Progressing: 3, Stalled: 2}, {Policy: "ambit-system/b"}}
	if diff := cmp.Diff(want, e.Owners()); diff != "" {
		t.Errorf("owners -want +got:\n%s", diff)
	}
	turn.forgetOwner(types.NamespacedName{Namespace: "home", Name: "stuck"})
	if got := e.Owners()[0]; got.Stalled != 1 {
		t.Errorf("%d are stalled when one of two is gone", got.Stalled)
	}
}
