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
	op := e.versions.get("ambit-system/a")
	state := newOwnerState(op.subscriber(types.NamespacedName{Namespace: "n", Name: "x"}))
	state.settled["gone"] = "digest"
	state.sources = newSources()
	state.sources.home.own = unlimited()
	state.sources.children[plan.Location{Child: "child", Namespace: "n"}] = slot{problem: &plan.Problem{Reason: "Forbidden"}}
	p := op.newPass(nil, state, false)
	if p.snapshot(); len(state.settled) != 1 {
		t.Error("it is forgotten while it may be there")
	}
	state.sources.children[plan.Location{Child: "child", Namespace: "n"}] = slot{}
	if p.snapshot(); len(state.settled) != 0 {
		t.Error("it stays for ever")
	}
}
