package controller

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// TestChildConflict: how often a child is written in virtual time, by how soon and in which field
// somebody undoes it.
func TestChildConflict(t *testing.T) {
	cases := map[string]struct {
		reason  string
		after   time.Duration // how soon it is undone
		field   func(turn int) string
		wanted  func(turn int) string
		follows bool
		// atMost are the writes in 20 s and in an hour, and atLeast those in an hour.
		soon, hour, atLeast int
	}{
		"AtOnce":    {reason: "it is answered more and more rarely", soon: 12, hour: 75, atLeast: 50},
		"OtherPath": {reason: "so is who undoes another field each time", field: func(turn int) string { return fmt.Sprint("data.", turn) }, soon: 12, hour: 75, atLeast: 50},
		"InASecond": {reason: "so is who takes a second", after: time.Second, soon: 12, hour: 75, atLeast: 50},
		"Rarely":    {reason: "what stood for a while is repaired at once", after: conflictQuick, soon: 3, hour: 361, atLeast: 359},
		"OwnWish":   {reason: "what the policy wants anew is written at once", wanted: func(turn int) string { return fmt.Sprint(turn) }, after: time.Second, soon: 21, hour: 3601, atLeast: 3599},
		"OwnEcho": {reason: "but not what may follow from the last write", wanted: func(turn int) string { return fmt.Sprint(turn) }, follows: true,
			soon: 14, hour: 730, atLeast: 50},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var c childConflict
			began := time.Unix(1000, 0)
			now, writes, soon := began, 0, 0
			next := func() plan.Action {
				a := plan.Action{Verb: plan.Apply, Wanted: "w", Fields: []string{"data.text"}}
				if tc.field != nil {
					a.Fields = []string{tc.field(writes)}
				}
				if tc.wanted != nil {
					a.Wanted = tc.wanted(writes)
				}
				return a
			}
			for now.Sub(began) < time.Hour {
				c.recordDifference(next(), tc.follows, now)
				if wait := c.waitToWrite(next(), now); wait > 0 {
					now = now.Add(wait)
					continue
				}
				c.recordWrite(next(), testBackoff, now)
				if writes++; now.Sub(began) <= 20*time.Second {
					soon++
				}
				now = now.Add(max(tc.after, time.Millisecond))
			}
			t.Logf("%d writes in 20 s, %d in an hour", soon, writes)
			if soon > tc.soon || writes > tc.hour || writes < tc.atLeast {
				t.Errorf("%s: %d writes in 20 s, want at most %d, and %d in an hour, want %d to %d", tc.reason, soon, tc.soon, writes, tc.atLeast, tc.hour)
			}
		})
	}
}

// TestChildConflictByHand: who changes a child a few times is answered at once each time, and a
// conflict that is over is forgotten.
func TestChildConflictByHand(t *testing.T) {
	var c childConflict
	now, apply := time.Unix(1000, 0), plan.Action{Verb: plan.Apply, Wanted: "w", Fields: []string{"spec.replicas"}}
	for i := range conflictFree + 1 { // the first one undoes what was made before
		c.recordDifference(apply, false, now)
		if wait := c.waitToWrite(apply, now); wait > 0 || c.isFought() {
			t.Errorf("change %d waits %s", i, wait)
		}
		c.recordWrite(apply, testBackoff, now)
		now = now.Add(time.Second)
	}
	c.recordDifference(apply, false, now)
	if !c.isFought() {
		t.Error("it is never fought over")
	}
	c.recordWrite(apply, testBackoff, now)
	now = now.Add(contestOver)
	c.recordDifference(apply, false, now)
	if c.isFought() || c.waitToWrite(apply, now) > 0 {
		t.Errorf("it is not forgotten: %+v", c)
	}
}

// TestChildConflictAnew: an object that is made anew is not missing for longer than that takes,
// however often that happens.
func TestChildConflictAnew(t *testing.T) {
	var c childConflict
	now := time.Unix(1000, 0)
	remove, create := plan.Action{Verb: plan.Delete, Wanted: "w", Fields: []string{"data.text"}}, plan.Action{Verb: plan.Create, Wanted: "w"}
	deletions := 0
	for range 30 {
		c.recordDifference(remove, false, now)
		if wait := c.waitToWrite(remove, now); wait > 0 {
			now = now.Add(wait)
			continue
		}
		c.recordWrite(remove, testBackoff, now)
		deletions++
		now = now.Add(time.Millisecond)
		c.recordDifference(create, false, now)
		if wait := c.waitToWrite(create, now); wait > 0 {
			t.Fatalf("after deletion %d it is missing for %s", deletions, wait)
		}
		c.recordWrite(create, testBackoff, now)
		now = now.Add(time.Millisecond)
	}
	if took := now.Sub(time.Unix(1000, 0)); took < time.Minute {
		t.Errorf("%d deletions took %s", deletions, took)
	}
}

// TestConflictProblem: what the owner says names the object, the fields and who undoes them, and
// stays the same while it goes on.
func TestConflictProblem(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	e := idle(t, clock, compiled(t, "a", "1", ""))
	p := e.revisions.currentOf("ambit-system/a").newOwnerReconciler(nil, newOwnerState(e.revisions.currentOf("ambit-system/a").subscriberFor(types.NamespacedName{Name: "x"})), false)
	apply := plan.Action{Verb: plan.Apply, Child: "web", Name: "web", Wanted: "w", Fields: []string{"a", "b", "c", "d"}}
	p.noteChildWrite(apply)
	c := p.state.conflicts[apply.ObjectKey()]
	c.name, c.by, c.told, c.wrote = `Deployment "web"`, "hpa", true, clock.Now()
	c.addFields(apply.Fields)
	want := plan.Problem{Reason: v1alpha1.ReasonContested, Terminal: true,
		Message: `Deployment "web": field manager "hpa" undoes what is written, at once and again and again: a, b, c; it is written more and more rarely until one of the two stops: let only one of them have it`}
	if diff := cmp.Diff([]plan.Problem{want}, p.conflictProblems()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	p.endConflicts(t.Context())
	if wait := p.requeueAfter(&plan.Plan{}); wait != contestOver {
		t.Errorf("it is looked at again in %s", wait)
	}
	c.undone = clock.Now() // and then nobody wants the child any more
	clock.Step(contestOver)
	if list := p.conflictProblems(); list != nil {
		t.Errorf("it is over, and still said: %v", list)
	}
	p.endConflicts(t.Context())
	if len(p.state.conflicts) > 0 {
		t.Errorf("it is over, and remembered: %v", p.state.conflicts)
	}
	p.noteChildWrite(apply)
	apply.Wanted = ""
	p.noteChildWrite(apply)
	if len(p.state.conflicts) > 0 {
		t.Errorf("what is deleted for good is remembered: %v", p.state.conflicts)
	}
}

// TestConflictNames: of children whose names follow the owner's content only those are remembered
// that were written a short while ago.
func TestConflictNames(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	e := idle(t, clock, compiled(t, "a", "1", ""))
	op := e.revisions.currentOf("ambit-system/a")
	p := op.newOwnerReconciler(nil, newOwnerState(op.subscriberFor(types.NamespacedName{Name: "x"})), false)
	for i := range 100 {
		create := plan.Action{Verb: plan.Create, Name: fmt.Sprint("child-", i), Wanted: "w"}
		if p.isChildHeldBack(t.Context(), create, nil) || len(p.state.conflicts) > 1 {
			t.Fatalf("what is not accepted is held or remembered: %v", p.state.conflicts)
		}
		p.noteChildWrite(create)
		clock.Step(contestOver)
	}
	if n := len(p.state.conflicts); n != 1 {
		t.Errorf("%d children are remembered", n)
	}
}

// TestConflictEndsWithTheKind: children that went with their kind, or with their namespace, were
// undone by nobody.
func TestConflictEndsWithTheKind(t *testing.T) {
	e := idle(t, clocktesting.NewFakeClock(time.Unix(1000, 0)), compiled(t, "a", "1", ""))
	op := e.revisions.currentOf("ambit-system/a")
	p := op.newOwnerReconciler(nil, newOwnerState(op.subscriberFor(types.NamespacedName{Name: "x"})), false)
	child := op.program.Children[0]
	create := plan.Action{Verb: plan.Create, GVK: child.GVK, Namespace: "n", Name: "x", Wanted: "w"}
	at := plan.Location{Child: child.ID, Namespace: "n"}
	for reason, forgotten := range map[string]bool{
		v1alpha1.ReasonKindMissing: true, v1alpha1.ReasonSyncing: false, v1alpha1.ReasonForbidden: false,
	} {
		p.noteChildWrite(create)
		p.forgetGoneKinds(map[plan.Location]plan.Input{at: {Blocked: &plan.Problem{Reason: reason}}})
		if got := len(p.state.conflicts) == 0; got != forgotten {
			t.Errorf("%s: forgotten is %t", reason, got)
		}
	}
}
