package ownerreconcile

import (
	"testing"
	"time"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/ownerinputs"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// TestRefusedWrite: a write that was refused is in the way until its backoff is over, as a problem of the
// owner, and another write of the same child is not; a right that is missing is said in its place; and
// a write that was accepted is in nobody's way.
func TestRefusedWrite(t *testing.T) {
	b := newBench(t, "")
	clock := b.clock
	state := b.state
	problem := plan.Problem{Reason: v1alpha1.ReasonQuotaExceeded, Message: "exceeded quota"}
	isHeldBack := func(write string, denied *plan.Problem) (is bool, message string) {
		p := b.begin(nil)
		is = p.isHeldBack("web", func() string { return write }, ownerinputs.PlacePermissions{}, denied)
		return is, p.problems["web"].Message
	}
	p := b.begin(nil)
	if isNews := p.recordRefusal("web", "w", "n", access.Access{}, problem); !isNews || p.problems["web"].Message != problem.Message || p.isRefusalUnconfirmed {
		t.Errorf("a first refusal: news %t, problems %v", isNews, p.problems)
	}
	if wait := p.RequeueAfter(&plan.Plan{}); wait <= 0 || wait > time.Second {
		t.Errorf("it is tried again after %s", wait)
	}
	if is, message := isHeldBack("w", nil); !is || message != problem.Message {
		t.Errorf("the same write is tried again at once: %q", message)
	}
	if is, message := isHeldBack("x", nil); is || message != "" {
		t.Errorf("another write is not tried: %q", message)
	}
	clock.Step(time.Second)
	if is, _ := isHeldBack("w", nil); is {
		t.Error("it is not tried when its backoff is over")
	}
	if is, message := isHeldBack("w", &plan.Problem{Message: "cannot patch"}); !is || message != "cannot patch" || state.refused.HasRefusal("web") {
		t.Errorf("a right is missing: %q", message)
	}
	p.recordRefusal("web", "w", "n", access.Access{}, problem)
	p.forgetRefusal("web")
	if is, _ := isHeldBack("w", nil); is || len(p.problems) > 0 {
		t.Errorf("it was accepted, and problems are %v", p.problems)
	}
}

// TestUnreadAwaitsItsTurn: an object of the record that could not be read, and whose backoff is over, is told until
// it is read; and until then the owner is not looked at again for it.
func TestUnreadAwaitsItsTurn(t *testing.T) {
	b := newBench(t, "")
	entry := inventory.Entry{Namespace: "n", Name: "a", UID: "1"}
	entry.GVK.Version, entry.GVK.Kind = "v1", "ConfigMap"
	p := b.begin(nil)
	if (&recordObjects{Reconciler: p}).IsHeldBack(entry) || len(p.problems) > 0 {
		t.Errorf("nothing is known of it: problems %v", p.problems)
	}
	p.recordRefusal(recordKey(entry), recordKey(entry), "n", access.Access{}, plan.Problem{Reason: v1alpha1.ReasonUnavailable, Message: "no leader"})
	p = b.begin(nil)
	if !(&recordObjects{Reconciler: p}).IsHeldBack(entry) || len(p.problems) != 1 || p.RequeueAfter(&plan.Plan{}) <= time.Millisecond {
		t.Errorf("at once: problems %v, again after %s", p.problems, p.RequeueAfter(&plan.Plan{}))
	}
	b.clock.Step(time.Second)
	p = b.begin(nil)
	if (&recordObjects{Reconciler: p}).IsHeldBack(entry) || len(p.problems) != 1 || p.RequeueAfter(&plan.Plan{}) != 0 {
		t.Errorf("after its backoff: problems %v, again after %s", p.problems, p.RequeueAfter(&plan.Plan{}))
	}
	b.clock.Step(time.Hour)
	p = b.begin(nil)
	if (&recordObjects{Reconciler: p}).IsHeldBack(entry) || len(p.problems) > 0 {
		t.Errorf("long after: problems %v", p.problems)
	}
}
