package controller

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/ambit-dev/ambit/pkg/plan"
)

// TestSettledOfTheGone: what the API server made of a child is forgotten with the child, but
// not as long as children cannot be seen.
func TestSettledOfTheGone(t *testing.T) {
	e := idle(t, clocktesting.NewFakeClock(time.Unix(1000, 0)), compiled(t, "a", "1", ""))
	op := e.revisions.CurrentOf("ambit-system/a")
	state := newOwnerState(op.subscriberFor(types.NamespacedName{Namespace: "n", Name: "x"}))
	state.serverNormalized["gone"] = "digest"
	p := op.newOwnerReconciler(nil, state, false)
	at := plan.Location{Child: "child", Namespace: "n"}
	p.dropNormalized(map[plan.Location]plan.Input{at: {Blocked: &plan.Problem{Reason: "Forbidden"}}})
	if len(state.serverNormalized) != 1 {
		t.Error("it is forgotten while it may be there")
	}
	p.dropNormalized(map[plan.Location]plan.Input{at: {}})
	if len(state.serverNormalized) != 0 {
		t.Error("it stays for ever")
	}
}
