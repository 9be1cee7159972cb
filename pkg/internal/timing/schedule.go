package timing

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // 450 KB: a zone is known by its name also where the machine has no database of them

	"github.com/robfig/cron/v3"
)

// MaxTextBytes bounds the text of a schedule.
const MaxTextBytes = 256

// horizon is how far runs are looked for: the 29th of February comes at least every eight years.
const horizon = 9 * 366 * 24 * time.Hour

// searchStep is less than the five years after which the library gives up.
const searchStep = 4 * 365 * 24 * time.Hour

// Schedule is a set of minutes. It is immutable and safe for concurrent use.
type Schedule struct {
	// fields match wall clocks, in whatever zone a time has that they are given.
	fields *cron.SpecSchedule
	zone   *time.Location
	name   string // as in an expression
}

// Zones knows time zones by their names, and reads each once. The zero value is ready. Safe for
// concurrent use.
type Zones struct{ known sync.Map }

// LoadZone returns the zone of a name of the IANA database, as in Europe/Berlin.
func (z *Zones) LoadZone(name string) (*time.Location, error) {
	if found, ok := z.known.Load(name); ok {
		return found.(*time.Location), nil
	}
	if name == "" || name == "Local" { // which would be UTC, and what the machine is set to
		return nil, fmt.Errorf("%q is no time zone: name one as in 'Europe/Berlin' or 'UTC'", name)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("%q is no time zone: name one as in 'Europe/Berlin' or 'UTC'", name)
	}
	z.known.Store(name, zone)
	return zone, nil
}

// ParseSchedule reads a schedule: minute, hour, day of the month, month, day of the week; or @hourly, @daily,
// @weekly, @monthly, @yearly. One that has no run is an error.
func (z *Zones) ParseSchedule(text, zone string) (*Schedule, error) {
	location, err := z.LoadZone(zone)
	if err != nil {
		return nil, err
	}
	fields, err := parseFields(text)
	if err != nil {
		return nil, err
	}
	s := &Schedule{fields: fields, zone: location, name: fmt.Sprintf("schedule('%s', '%s')", text, zone)}
	if s.NextRun(time.Unix(0, 0)).IsZero() {
		return nil, fmt.Errorf("%q has no run: there is no such day", text)
	}
	return s, nil
}

// parseFields reads the text of a schedule as Kubernetes does for a CronJob, but for what is not about
// minutes of a wall clock.
func parseFields(text string) (*cron.SpecSchedule, error) {
	switch {
	case len(text) > MaxTextBytes:
		return nil, fmt.Errorf("a schedule has at most %d bytes", MaxTextBytes)
	case strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ="):
		return nil, fmt.Errorf("%q names its time zone in the text: give it as the second argument, as in schedule('0 3 * * *', 'Europe/Berlin')", text)
	case strings.HasPrefix(text, "@every"):
		return nil, fmt.Errorf("%q has no fixed instants, for it counts from when it is started: use fields, as in '*/10 * * * *'", text)
	}
	parsed, err := cron.ParseStandard(text)
	if err != nil {
		return nil, fmt.Errorf("%q is no schedule of five fields, as in '0 3 * * *': %w", text, err)
	}
	fields, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, errors.New("a schedule has five fields, as in '0 3 * * *'")
	}
	fields.Location = time.Local // which is how the library says: that of the time it is given
	return fields, nil
}

// NextRun returns the first run after a time, in UTC; the zero time if there is none.
//
// The library is only asked about stretches of time in which the zone has one offset: there it is exact.
func (s *Schedule) NextRun(after time.Time) time.Time {
	from, t := after, after.In(s.zone)
	for limit := after.Add(horizon); t.Before(limit); {
		name, offset := t.Zone()
		_, end := t.ZoneBounds()
		run := s.fields.Next(from.In(time.FixedZone(name, offset)))
		switch {
		case !run.IsZero() && (end.IsZero() || run.Before(end)):
			return run.UTC()
		case run.IsZero():
			from = from.Add(searchStep)
			t = from.In(s.zone)
		default:
			from, t = end.Add(-time.Second), end // a run may be at the end itself
			if near := s.fields.Next(end.UTC().Add(-mostOffset)).Add(-mostOffset); near.After(from) {
				from, t = near, near.In(s.zone)
			}
		}
	}
	return time.Time{}
}

// mostOffset is more than any zone's clock is ahead of UTC, or behind: the first wall clock that matches,
// taken for one of UTC, is that near to the first run.
const mostOffset = 27 * time.Hour

// LastRun returns the last run that is not after a time, in UTC; the zero time if there is none.
func (s *Schedule) LastRun(until time.Time) time.Time {
	var last time.Time
	past := until // no run is after it, and not after until
	for step := time.Minute; last.IsZero(); step *= 8 {
		if step > 8*horizon {
			return time.Time{}
		}
		last = s.runUntil(until.Add(-step), until)
	}
	for {
		run := s.runUntil(last, until)
		if run.IsZero() {
			return last
		}
		last = run
		for middle := last.Add(past.Sub(last) / 2); past.Sub(last) > time.Minute; middle = last.Add(past.Sub(last) / 2) {
			if run = s.runUntil(middle, until); !run.IsZero() {
				last = run
				break
			}
			past = middle
		}
	}
}

// runUntil is NextRun if that is not after a time, and else the zero time.
func (s *Schedule) runUntil(after, until time.Time) time.Time {
	if run := s.NextRun(after); !run.After(until) {
		return run
	}
	return time.Time{}
}
