// Package timing answers questions about time at one moment, and says when the answers change.
//
// A plan must not depend on the clock: made twice from the same inputs it is the same, byte for byte.
// So the time of a plan is one of its inputs, a whole second, and nothing gives it away. What may be
// asked are questions whose answer changes rarely, and at an instant that is known: whether an instant
// has been reached, and which runs of a schedule come last and next. Each question that is asked notes
// that instant on the Clock. The earliest of them is its Wake: from the time of the Clock until then
// all the answers stay the same.
//
// # Schedules
//
// A Schedule is a text of five fields in a time zone, as that of a CronJob of Kubernetes, and read by
// the same library. Its runs are exactly the minutes whose wall clock in that zone matches the fields.
// So a run at a wall clock that is left out when clocks go forward does not take place on that day, and one
// at a wall clock that comes twice when they go back takes place twice. That is what Kubernetes does,
// but for zones that go back by other than whole hours, where its library misses runs.
//
// # Zones
//
// The rules of zones are those of the machine if it has them, and else those that the program was built
// with, so that each name is known everywhere. A zone is read once. That is the only input or output of
// the package, and its result does not change while the process lives.
package timing

import (
	"cmp"
	"errors"
	"time"
)

// ErrNoTime is what each question fails with that is asked of a Clock without a time.
var ErrNoTime = errors.New("the time is not known here")

// Wake is an instant at which an answer changes.
type Wake struct {
	// At is a whole second, in UTC.
	At time.Time
	// Reason says which answer, as in `reached(2026-11-27T03:00:00Z)`.
	Reason string
}

// Clock is the moment at which questions are asked. It belongs to one goroutine. The zero Clock has no
// time: each question fails.
type Clock struct {
	now  time.Time
	wake *Wake
}

// NewClock returns a clock that stands at a time, without the part of it below a second. The zero time
// is no time.
func NewClock(now time.Time) *Clock {
	if now.IsZero() {
		return &Clock{}
	}
	return &Clock{now: now.UTC().Truncate(time.Second).Round(0)}
}

// HasTime reports whether questions can be answered.
func (c *Clock) HasTime() bool { return !c.now.IsZero() }

// EarliestWake returns the earliest instant at which one of the answers that were given changes; nil: none of
// them does. Of several at that instant it is the first by its reason, whatever the order in which they were asked.
func (c *Clock) EarliestWake() *Wake { return c.wake }

// HasReached reports whether an instant is not after the time of the clock.
func (c *Clock) HasReached(at time.Time) (bool, error) {
	if !c.HasTime() {
		return false, ErrNoTime
	}
	if !at.After(c.now) {
		return true, nil
	}
	at = wholeSecond(at)
	c.noteChange(at, "reached("+at.Format(time.RFC3339)+")")
	return false, nil
}

// ChangesAt notes that something else than an answer changes at an instant, in whole seconds; zero: it does not. A nil Clock notes nothing.
func (c *Clock) ChangesAt(at time.Time, reason string) {
	if c != nil && !at.IsZero() {
		c.noteChange(at, reason)
	}
}

// noteChange notes that an answer changes at an instant.
func (c *Clock) noteChange(at time.Time, reason string) {
	if c.wake == nil || cmp.Or(at.Compare(c.wake.At), cmp.Compare(reason, c.wake.Reason)) < 0 {
		c.wake = &Wake{At: at, Reason: reason}
	}
}

// wholeSecond is the first whole second that is not before an instant: clocks stand at no other.
func wholeSecond(at time.Time) time.Time {
	whole := at.UTC().Truncate(time.Second).Round(0)
	if whole.Before(at) {
		whole = whole.Add(time.Second)
	}
	return whole
}
