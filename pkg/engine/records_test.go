package engine

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/ambit-dev/ambit/pkg/watch"
)

// TestKindsOfRecords: a kind that only records of owners name is looked up as long as an
// owner needs it, and then no more.
func TestKindsOfRecords(t *testing.T) {
	e := idle(t, clocktesting.NewFakeClock(time.Unix(1000, 0)), compiled(t, "a", "1", ""))
	op := e.versions.get("ambit-system/a")
	op.lookedUp()
	mine := op.program.Owner.GVK
	wanted := func(when string, want bool) {
		t.Helper()
		if _, ok := e.kinds.wanted[thing]; ok != want {
			t.Errorf("%s: it is looked up: %t", when, ok)
		}
		if about := op.isAbout(map[schema.GroupKind]bool{thing.GroupKind(): true}); about != want {
			t.Errorf("%s: the policy would be told of it: %t", when, about)
		}
	}
	// pass is a pass over an owner that has, or has not, one object of the kind in its record.
	pass := func(name types.NamespacedName, records bool) {
		state, _ := op.state(name, "uid", watch.View{})
		state.sources = newSources()
		l := &layout{operator: op, name: name, s: state.sources}
		l.findKind(mine, true)
		if records {
			l.findKind(thing, true)
		}
		op.newPass(nil, state, false).partKinds()
	}
	x, y := types.NamespacedName{Namespace: "n", Name: "x"}, types.NamespacedName{Namespace: "n", Name: "y"}
	wanted("at first", false)
	pass(x, true)
	pass(y, true)
	wanted("two owners need it", true)
	e.kinds.lookupAll(t.Context())
	pass(x, false)
	wanted("one of them does", true)
	op.forget(y)
	wanted("it is gone, too", false)

	pass(x, true)
	pass(x, true)
	wanted("an owner needs it again", true)
	p := op.newPass(nil, newOwnerState(op.subscriber(x)), false)
	p.state.sources = newSources()
	p.seekKind(thing)
	p.partKinds()
	wanted("it was looked up for one object", true)
	if _, ok := e.kinds.wanted[mine]; !ok {
		t.Error("the policy's own kind is not looked up any more")
	}
	op.release()
	wanted("the policy is gone", false)
}
