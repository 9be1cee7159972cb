package writeconflict

import (
	"fmt"
	"testing"
	"time"

	"github.com/ambit-dev/ambit/pkg/plan"
)

// TestChild: how often a child is written in virtual time, by how soon and in which field
// somebody undoes it.
func TestChild(t *testing.T) {
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
			var c Child
			next := func(writes int) plan.Action {
				a := plan.Action{Verb: plan.Apply, Wanted: "w", Fields: []string{"data.text"}}
				if tc.field != nil {
					a.Fields = []string{tc.field(writes)}
				}
				if tc.wanted != nil {
					a.Wanted = tc.wanted(writes)
				}
				return a
			}
			written := writeForAnHour(tc.after, func(writes int, now time.Time) time.Duration {
				c.RecordDifference(next(writes), tc.follows, now)
				wait := c.WaitToWrite(next(writes), now)
				if wait == 0 {
					c.recordWrite(next(writes), growingWait, now)
				}
				return wait
			})
			written.checkPace(t, tc.reason, tc.soon, tc.hour, tc.atLeast)
		})
	}
}

// TestChildByHand: who changes a child a few times is answered at once each time, and a
// conflict that is over is forgotten.
func TestChildByHand(t *testing.T) {
	var c Child
	now, apply := time.Unix(1000, 0), plan.Action{Verb: plan.Apply, Wanted: "w", Fields: []string{"spec.replicas"}}
	for i := range conflictFree + 1 { // the first one undoes what was made before
		c.RecordDifference(apply, false, now)
		if wait := c.WaitToWrite(apply, now); wait > 0 || c.IsFought() {
			t.Errorf("change %d waits %s", i, wait)
		}
		c.recordWrite(apply, growingWait, now)
		now = now.Add(time.Second)
	}
	c.RecordDifference(apply, false, now)
	if !c.IsFought() {
		t.Error("it is never fought over")
	}
	c.recordWrite(apply, growingWait, now)
	now = now.Add(Over)
	c.RecordDifference(apply, false, now)
	if c.IsFought() || c.WaitToWrite(apply, now) > 0 {
		t.Errorf("it is not forgotten: %+v", c)
	}
}

// TestChildMadeAnew: an object that is made anew is not missing for longer than that takes,
// however often that happens.
func TestChildMadeAnew(t *testing.T) {
	var c Child
	now := time.Unix(1000, 0)
	remove, create := plan.Action{Verb: plan.Delete, Wanted: "w", Fields: []string{"data.text"}}, plan.Action{Verb: plan.Create, Wanted: "w"}
	deletions := 0
	for range 30 {
		c.RecordDifference(remove, false, now)
		if wait := c.WaitToWrite(remove, now); wait > 0 {
			now = now.Add(wait)
			continue
		}
		c.recordWrite(remove, growingWait, now)
		deletions++
		now = now.Add(time.Millisecond)
		c.RecordDifference(create, false, now)
		if wait := c.WaitToWrite(create, now); wait > 0 {
			t.Fatalf("after deletion %d it is missing for %s", deletions, wait)
		}
		c.recordWrite(create, growingWait, now)
		now = now.Add(time.Millisecond)
	}
	if took := now.Sub(time.Unix(1000, 0)); took < time.Minute {
		t.Errorf("%d deletions took %s", deletions, took)
	}
}
