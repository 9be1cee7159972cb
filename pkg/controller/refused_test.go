package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// TestRefusedStill: the same write waits for its backoff, another does not, and
// no write waits when the rights have changed since.
func TestRefusedStill(t *testing.T) {
	now := time.Unix(1000, 0)
	before, after := &permissionset.Set{}, &permissionset.Set{}
	state := &ownerState{refused: map[string]refusal{}}
	if news := state.recordRefusal("web", refusal{what: "w", problem: plan.Problem{Message: "no"}, rights: before}, testBackoff, now); !news {
		t.Error("a first refusal is news")
	}
	if news := state.recordRefusal("web", refusal{what: "w", problem: plan.Problem{Message: "no"}, rights: before}, testBackoff, now); news {
		t.Error("the same refusal again is no news")
	}
	cases := map[string]struct {
		reason string
		what   string
		rights *permissionset.Set
		later  time.Duration
		want   bool
	}{
		"Same":        {reason: "the same write, soon after", what: "w", rights: before, want: true},
		"OtherWrite":  {reason: "another write may go through", what: "x", rights: before},
		"OtherRights": {reason: "rights have changed", what: "w", rights: after},
		"Later":       {reason: "the backoff is over", what: "w", rights: before, later: time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, still := state.currentRefusal("web", tc.what, tc.rights, now.Add(tc.later)); still != tc.want {
				t.Errorf("%s: got %t", tc.reason, still)
			}
		})
	}
}

// TestRefusedNames: of children whose names follow the owner's content, each refused, only
// those are remembered that were tried a short while ago, and none of what they hold.
func TestRefusedNames(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	e := idle(t, clock, compiled(t, "a", "1", ""))
	op := e.revisions.CurrentOf("ambit-system/a")
	state := newOwnerState(op.subscriberFor(types.NamespacedName{Namespace: "n", Name: "x"}))
	state.inputs = newOwnerInputs()
	problem := plan.Problem{Reason: v1alpha1.ReasonQuotaExceeded, Message: "exceeded quota"}
	write := strings.Repeat("content", 1000)
	refuse := func(child int) string {
		p, key := op.newOwnerReconciler(nil, state, false), fmt.Sprintf("child-%d", child)
		p.recordRefusal(key, write, "n", access.Access{}, problem)
		if !p.isHeldBack(key, func() string { return write }, placePermissions{}, nil) {
			t.Fatal("the same write is tried again at once")
		}
		if p.isHeldBack(key, func() string { return write + "x" }, placePermissions{}, nil) {
			t.Fatal("another write is not tried")
		}
		return key
	}
	for child := range 100 {
		if key := refuse(child); len(state.refused[key].what) > 100 {
			t.Fatalf("%d bytes are kept to tell the write from others", len(state.refused[key].what))
		}
		clock.Step(10 * time.Minute)
	}
	if n := len(state.refused); n > 1 {
		t.Errorf("%d refusals are remembered", n)
	}
	for range 20 { // a write that is tried again and again keeps its backoff
		refuse(0)
		clock.SetTime(state.refused["child-0"].until)
	}
	if n := state.refused["child-0"].failures; n != 19 {
		t.Errorf("%d failures are remembered", n)
	}
}
