package controller

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/recordedkinds"
)

// TestKindsOfRecords: a kind that only records of owners name is looked up as long as an
// owner needs it, and then no more.
func TestKindsOfRecords(t *testing.T) {
	server := &fakeServer{}
	e := idleWith(t, server, clocktesting.NewFakeClock(time.Unix(1000, 0)), compiled(t, "a", "1", ""))
	op := e.revisions.CurrentOf("ambit-system/a")
	op.kinds.HaveLookedUp()
	mine := op.program.Owner.GVK
	wanted := func(when string, want bool) {
		t.Helper()
		if ok := slices.Contains(server.wanted(t, e), thing.GroupKind()); ok != want {
			t.Errorf("%s: it is looked up: %t", when, ok)
		}
		if about := len(op.kinds.OwnersOf(map[schema.GroupKind]bool{thing.GroupKind(): true})) > 0; about != want {
			t.Errorf("%s: its owners would be told of it: %t", when, about)
		}
	}
	// pass is a reconcile over an owner that has, or has not, one object of the kind in its record.
	pass := func(name types.NamespacedName, records bool) {
		ownerTurn{op}.ownerStateOf(name, ownerOf("uid"), nil)
		needed := map[schema.GroupVersionKind]bool{mine: true, thing: records}
		for gvk, is := range needed {
			if is {
				op.kinds.ResolveFor(name, gvk)
			}
		}
		op.kinds.ReleaseKinds(name, func(gvk schema.GroupVersionKind) bool { return needed[gvk] })
	}
	x, y := types.NamespacedName{Namespace: "n", Name: "x"}, types.NamespacedName{Namespace: "n", Name: "y"}
	wanted("at first", false)
	pass(x, true)
	pass(y, true)
	wanted("two owners need it", true)
	e.discovery.PollRound(t.Context())
	pass(x, false)
	wanted("one of them does", true)
	op.forgetOwner(y)
	wanted("it is gone, too", false)

	pass(x, true)
	pass(x, true)
	wanted("an owner needs it again", true)
	if !slices.Contains(server.wanted(t, e), mine.GroupKind()) {
		t.Error("the policy's own kind is not looked up any more")
	}
	op.releaseAll()
	wanted("the policy is gone", false)
}

// TestTooManyRecordedKinds: an owner whose record names too many kinds says so, and no more are
// looked up.
func TestTooManyRecordedKinds(t *testing.T) {
	server := &fakeServer{}
	e := idleWith(t, server, clocktesting.NewFakeClock(time.Unix(1000, 0)), compiled(t, "a", "1", ""))
	op := e.revisions.CurrentOf("ambit-system/a")
	owner := types.NamespacedName{Namespace: "n", Name: "x"}
	for i := range recordedkinds.OwnerLimit + 1 {
		_, problem := op.kinds.ResolveFor(owner, schema.GroupVersionKind{Group: fmt.Sprintf("g%d.example.com", i), Version: "v1", Kind: "Thing"})
		if refused := problem.Reason == v1alpha1.ReasonLimitExceeded; refused != (i == recordedkinds.OwnerLimit) {
			t.Errorf("kind %d: %s", i, problem.Message)
		}
	}
	if n := len(server.wanted(t, e)); n != recordedkinds.OwnerLimit {
		t.Errorf("%d kinds are looked up", n)
	}
	op.kinds.ReleaseAllKinds(owner)
	if n := len(server.wanted(t, e)); n != 0 {
		t.Errorf("the owner is gone, and %d kinds are looked up", n)
	}
}
