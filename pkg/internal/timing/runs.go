package timing

import (
	"fmt"
	"time"
)

// Runs are the runs of a schedule around the time of a clock. It belongs to the goroutine of the clock.
type Runs struct {
	clock      *Clock
	schedule   *Schedule
	last, next time.Time
}

// RunsOf returns the runs of a schedule around the clock's time.
func (c *Clock) RunsOf(s *Schedule) (*Runs, error) {
	if !c.HasTime() {
		return nil, ErrNoTime
	}
	r := &Runs{clock: c, schedule: s, last: s.LastRun(c.now), next: s.NextRun(c.now)}
	if r.last.IsZero() || r.next.IsZero() {
		return nil, fmt.Errorf("%s has no run before or after %s", s.name, c.now.Format(time.RFC3339))
	}
	return r, nil
}

// LastRun returns the last run that is not after the clock's time: it changes with the next run.
func (r *Runs) LastRun() time.Time {
	r.noteNext()
	return r.last
}

// NextRun returns the first run after the clock's time: it changes when that is reached.
func (r *Runs) NextRun() time.Time {
	r.noteNext()
	return r.next
}

// noteNext notes that an answer changes with the next run.
func (r *Runs) noteNext() {
	r.clock.noteChange(r.next, fmt.Sprintf("%s runs at %s", r.schedule.name, r.next.Format(time.RFC3339)))
}

// IsOpen reports whether less than a duration has passed since the last run: it changes when that long has
// passed without another run, or with the next run. Where runs follow on each other so quickly that this is
// not soon, the answer is to be looked at again at an instant that is noted in its place.
func (r *Runs) IsOpen(during time.Duration) bool {
	if during <= 0 {
		return false
	}
	closes := r.last.Add(during)
	if !closes.After(r.clock.now) {
		r.noteNext()
		return false
	}
	apart := lookedAtWindows * (int64(min(during, longestWindow)/time.Second) + 1)
	again := time.Unix(r.clock.now.Unix()/apart*apart+apart, 0).UTC()
	for limit := again.Add(time.Duration(apart) * time.Second); !closes.After(limit); {
		later := r.schedule.LastRun(closes).Add(during) // it has been open all the time until then
		if !later.After(closes) {
			closes = wholeSecond(closes)
			r.clock.noteChange(closes, fmt.Sprintf("%s has been open for %s at %s", r.schedule.name, during, closes.Format(time.RFC3339)))
			return true
		}
		closes = later
	}
	r.clock.noteChange(again, fmt.Sprintf("%s is open for %s again and again, and is looked at again at %s", r.schedule.name, during, again.Format(time.RFC3339)))
	return true
}

// How far it is looked for the end of a window of time: so many times its length at least, a year at most being taken
// for that, and twice as far at most. The instants at which it is looked for again are fixed, that far
// apart: as time goes on, the answer is the same until the one that was noted.
const (
	lookedAtWindows = 8
	longestWindow   = 366 * 24 * time.Hour
)
