package writeconflict

import (
	"time"

	"github.com/ambit-dev/ambit/pkg/plan"
)

// feedbackWrites is how many writes of a status in a row may change what the policy reads of it.
const feedbackWrites = 10

// Feedback is what is remembered of an owner whose policy reads the status that it writes.
// After each write that changes what is read the owner is planned again, until the status comes to
// rest or feedbackWrites are used up. The zero value: nothing was written.
type Feedback struct {
	generation int64         // of the owner, as of the writes
	writes     int           // in a row that have changed what is read
	problem    *plan.Problem // why no more is written; nil: nothing
	wanted     string        // what would have been written next; empty without a problem
	backoff    Backoff       // of beginning anew
}

// ResetWrites notes that the status is, or may become, as the policy wants it.
func (f *Feedback) ResetWrites() { f.writes, f.problem, f.wanted = 0, nil, "" }

// RecordWrite notes a write that has changed what the policy reads, and the owner's generation.
func (f *Feedback) RecordWrite(generation int64) {
	f.generation = generation
	f.writes++
}

// IsUsedUp reports whether the status has changed as often as it may. Who changes the owner's spec,
// and so its generation, has acted, so that all begins anew.
func (f *Feedback) IsUsedUp(generation int64) bool {
	if f.generation != generation {
		*f = Feedback{generation: generation}
	}
	return f.writes >= feedbackWrites
}

// UnstableWrite is a write of a status after the writes are used up.
type UnstableWrite struct {
	// Before and After are what the policy reads of the status, and would read of it then. They are
	// different. Text is equal for equal values of After.
	Before, After map[string]any
	Text          string
}

// HoldBack returns the problem of a status that does not come to rest; nil if it may be written.
// Whatever else than a new spec happens to the owner changes nothing, as long as the same would be
// written; if it is something else, the backoff of contested statuses decides when it is tried: again
// is that time, else it is zero. The problem is not to be changed.
func (f *Feedback) HoldBack(w UnstableWrite, wait Wait, now time.Time) (problem *plan.Problem, again time.Time) {
	left := f.backoff.WaitToWrite(w.Text, now)
	switch {
	case f.problem == nil:
		f.problem, f.wanted = unstableProblem(w.Before, w.After), w.Text
		f.backoff.RecordWrite(w.Text, wait, now)
	case f.wanted == w.Text:
	case left > 0:
		again = now.Add(left)
	default:
		f.ResetWrites()
	}
	return f.problem, again
}
