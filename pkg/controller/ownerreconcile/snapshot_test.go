package ownerreconcile

import (
	"testing"

	"github.com/ambit-dev/ambit/pkg/plan"
)

// TestSettledOfTheGone: what the API server made of a child is forgotten with the child, but
// not as long as children cannot be seen.
func TestSettledOfTheGone(t *testing.T) {
	b := newBench(t, "")
	state := b.state
	state.serverNormalized["gone"] = "digest"
	p := b.begin(nil)
	at := plan.Location{Child: "child", Namespace: "n"}
	snapshotReader{p}.dropNormalized(map[plan.Location]plan.Input{at: {Blocked: &plan.Problem{Reason: "Forbidden"}}})
	if len(state.serverNormalized) != 1 {
		t.Error("it is forgotten while it may be there")
	}
	snapshotReader{p}.dropNormalized(map[plan.Location]plan.Input{at: {}})
	if len(state.serverNormalized) != 0 {
		t.Error("it stays for ever")
	}
}
