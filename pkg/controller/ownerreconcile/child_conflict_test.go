package ownerreconcile

import (
	"strings"
	"testing"
	"time"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/writeconflict"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// TestChildConflict: the controller says who undoes what is written to a child once the free writes
// are used up, has the owner looked at again when that may be over, and then forgets it.
func TestChildConflict(t *testing.T) {
	b := newBench(t, "")
	clock := b.clock
	state := b.state
	create := plan.Action{Verb: plan.Create, Name: "web", Wanted: "w"}
	create.GVK.Kind = "Deployment"
	for writes := 0; ; writes++ {
		p := b.begin(nil)
		held := childWriter{p}.isChildHeldBack(t.Context(), create, nil)
		if problem := p.problems[create.Key()]; held != (problem.Reason == v1alpha1.ReasonContested) {
			t.Fatalf("after %d writes it is held: %t, and says %+v", writes, held, problem)
		}
		if held {
			break
		}
		if writes > 20 {
			t.Fatal("it is never held")
		}
		p.state.conflicts.RecordWrite(create, testBackoff, clock.Now())
	}
	p := b.begin(nil)
	if list := (snapshotReader{p}).conflictProblems(); len(list) != 1 || !strings.Contains(list[0].Message, `Deployment "web": another writer deletes it`) {
		t.Errorf("between two writes it says %v", list)
	}
	p.endConflicts(t.Context())
	if wait := p.RequeueAfter(&plan.Plan{}); wait != writeconflict.Over {
		t.Errorf("it is looked at again in %s", wait)
	}
	clock.Step(writeconflict.Over)
	if p.endConflicts(t.Context()); (snapshotReader{p}).conflictProblems() != nil || !state.conflicts.IsEmpty() {
		t.Errorf("it is over, and remembered: %v", (snapshotReader{p}).conflictProblems())
	}
}

// TestConflictEndsWithTheKind: children that went with their kind, or with their namespace, were
// undone by nobody.
func TestConflictEndsWithTheKind(t *testing.T) {
	b := newBench(t, "")
	p := b.begin(nil)
	child := b.options.Program.Children[0]
	create := plan.Action{Verb: plan.Create, GVK: child.GVK, Namespace: "n", Name: "x", Wanted: "w"}
	at := plan.Location{Child: child.ID, Namespace: "n"}
	for reason, forgotten := range map[string]bool{
		v1alpha1.ReasonKindMissing: true, v1alpha1.ReasonSyncing: false, v1alpha1.ReasonForbidden: false,
	} {
		p.state.conflicts.RecordWrite(create, testBackoff, time.Unix(1000, 0))
		(snapshotReader{p}).forgetGoneKinds(map[plan.Location]plan.Input{at: {Blocked: &plan.Problem{Reason: reason}}})
		if got := p.state.conflicts.IsEmpty(); got != forgotten {
			t.Errorf("%s: forgotten is %t", reason, got)
		}
	}
}
