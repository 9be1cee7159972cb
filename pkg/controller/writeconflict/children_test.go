package writeconflict

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// TestStandingProblems: what the owner says names the object, the fields and who undoes them, and
// stays the same while it goes on.
func TestStandingProblems(t *testing.T) {
	var c Children
	now, apply := time.Unix(1000, 0), plan.Action{Verb: plan.Apply, Child: "web", Name: "web", Wanted: "w", Fields: []string{"a", "b", "c", "d"}}
	c.RecordWrite(apply, growingWait, now)
	child := c.ChildOf(apply)
	child.RecordDifference(apply, false, now)
	child.Name, child.Writer = `Deployment "web"`, "hpa"
	child.MarkReported()
	want := plan.Problem{Reason: v1alpha1.ReasonContested, Terminal: true,
		Message: `Deployment "web": field manager "hpa" undoes what is written, at once and again and again: a, b, c; it is written more and more rarely until one of the two stops: let only one of them have it`}
	if diff := cmp.Diff([]plan.Problem{want}, c.StandingProblems(now)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if ended, at := c.EndIfOver(now); ended != nil || !at.Equal(now.Add(Over)) {
		t.Errorf("%v are over, and others at %s", ended, at)
	}
	now = now.Add(Over) // and then nobody wants the child any more
	if list := c.StandingProblems(now); list != nil {
		t.Errorf("it is over, and still said: %v", list)
	}
	if ended, at := c.EndIfOver(now); !cmp.Equal(ended, []string{child.Name}) || !at.IsZero() || !c.IsEmpty() {
		t.Errorf("%v are over, others at %s, and it is remembered: %t", ended, at, !c.IsEmpty())
	}
	c.RecordWrite(apply, growingWait, now)
	apply.Wanted = ""
	c.RecordWrite(apply, growingWait, now)
	if !c.IsEmpty() {
		t.Error("what is deleted for good is remembered")
	}
}

// TestChildrenAreForgotten: of children whose names follow the owner's content only those are
// remembered that were written a short while ago.
func TestChildrenAreForgotten(t *testing.T) {
	var c Children
	now := time.Unix(1000, 0)
	for i := range 100 {
		create := plan.Action{Verb: plan.Create, Name: fmt.Sprint("child-", i), Wanted: "w"}
		if c.ChildOf(create) != nil || len(c.list) > 1 {
			t.Fatalf("what is not accepted is remembered: %v", c.list)
		}
		c.RecordWrite(create, growingWait, now)
		now = now.Add(Over)
	}
	if n := len(c.list); n != 1 {
		t.Errorf("%d children are remembered", n)
	}
}

// BenchmarkRecordWrite measures what is kept of the children of an owner that has made one.
func BenchmarkRecordWrite(b *testing.B) {
	create := plan.Action{Verb: plan.Create, Name: "web", Wanted: "277n9y8vomext"}
	b.ReportAllocs()
	for b.Loop() {
		var c Children
		c.RecordWrite(create, growingWait, time.Unix(1000, 0))
	}
}
