package writeconflict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
)

const (
	// conflictQuick is within what time a write has to be undone to count as contested.
	conflictQuick = 10 * time.Second
	// conflictFree is how many contested writes of a child in a row do not wait.
	conflictFree = 5
	// conflictFields is how many fields a message names.
	conflictFields = 3
)

// Child is what is remembered of the writes of one child's object. The zero value: nothing was
// written.
//
// A write is contested if it wants what the last one wanted, and that one was undone within
// conflictQuick. Whatever takes longer is repaired at once, for ever, and so are the first
// conflictFree contested writes in a row: somebody edits by hand. After these the backoff of
// conflicts counts, and the owner says who undoes what.
type Child struct {
	// Name is the object, as in `Deployment "web"`, and Writer who undoes what is written; empty if
	// that is not known, or not to be said. The caller sets both, for the message.
	Name, Writer string

	wanted   string    // plan.Action.Wanted of the last write
	wrote    time.Time // when that was answered
	undone   time.Time // when it was first seen not to stand; zero: it stands, as far as is known
	quick    bool      // it was undone within conflictQuick
	making   bool      // the last write has deleted the object, to make it anew
	count    int       // contested writes in a row, the one that is to come included
	backoff  Backoff   // of the contested writes after the first
	fields   []string  // that were undone, at most conflictFields, in the order in which they were seen
	reported bool      // who undoes it was said
}

// RecordDifference notes that the object is not as it is to be. follows: what is wanted may itself follow
// from what was written, so that a write that wants something else counts as well.
func (c *Child) RecordDifference(action plan.Action, follows bool, now time.Time) {
	if c.IsOver(now) {
		*c = Child{}
	}
	if c.wrote.IsZero() || c.making || !c.undone.IsZero() || c.wanted != action.Wanted && !follows {
		return
	}
	c.undone, c.quick = now, now.Sub(c.wrote) < conflictQuick
	if c.quick {
		c.count++
		c.addFields(action.Fields)
	}
}

// addFields keeps the fields that were undone.
func (c *Child) addFields(fields []string) {
	for _, field := range fields {
		if len(c.fields) < conflictFields && !slices.Contains(c.fields, field) {
			c.fields = append(c.fields, field)
		}
	}
}

// UndoneFields returns fields that were undone, in the order in which they were seen: a few, for
// messages. It is not to be changed.
func (c *Child) UndoneFields() []string { return c.fields }

// IsFought reports whether the free writes are used up.
func (c *Child) IsFought() bool { return c.count > conflictFree }

// WaitToWrite returns how long the write has to wait; 0: not at all.
func (c *Child) WaitToWrite(action plan.Action, now time.Time) time.Duration {
	if !c.IsFought() || c.making {
		return 0
	}
	return c.backoff.WaitToWrite(action.Wanted, now)
}

// recordWrite notes a write that was accepted.
func (c *Child) recordWrite(action plan.Action, wait Wait, now time.Time) {
	if c.IsFought() && c.quick {
		c.backoff.RecordWrite(action.Wanted, wait, now)
	}
	c.making = action.Verb == plan.Delete
	c.wanted, c.wrote, c.undone, c.quick = action.Wanted, now, time.Time{}, false
}

// IsOver reports whether the last write is so long ago that it stands, or that nobody wants it any
// more: that is longer than a contested write ever waits.
func (c *Child) IsOver(now time.Time) bool { return now.Sub(c.wrote) >= Over }

// IsReported reports whether it was said who undoes what is written.
func (c *Child) IsReported() bool { return c.reported }

// MarkReported notes that it was said who undoes what is written.
func (c *Child) MarkReported() { c.reported = true }

// ConflictProblem returns what the owner says of a child that is fought over.
func (c *Child) ConflictProblem() plan.Problem {
	who, what := "another writer", "undoes what is written, at once and again and again: "+strings.Join(c.fields, ", ")
	if c.Writer != "" {
		who = fmt.Sprintf("field manager %q", c.Writer)
	}
	if len(c.fields) == 0 {
		what = "deletes it again and again, right after it is made"
	}
	return plan.Problem{Reason: v1alpha1.ReasonContested, Terminal: true, Message: fmt.Sprintf(
		"%s: %s %s; it is written more and more rarely until one of the two stops: let only one of them have it", c.Name, who, what)}
}
