package sim_test

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"
)

// cronCase is a CronJob, and how long its Jobs take.
type cronCase struct {
	name, schedule, zone, concurrency string
	// deadline is in seconds; negative: none.
	deadline          int
	succeeded, failed int
	// A Job takes from least to most minutes, and seven seconds unless it is exact: then it may end in the second in which a run is due.
	least, most int
	exact       bool
	// suspended are the hours since the beginning at which the CronJob is suspended, or goes on.
	suspended []int
}

// work is how long the Job of a run takes, and whether it comes to a good end.
func (c *cronCase) work(run time.Time) (time.Duration, bool) {
	h := fnv.New64a()
	fmt.Fprint(h, c.name, run.Unix())
	n := int(h.Sum64() >> 33)
	takes := time.Duration(c.least+n%(c.most-c.least+1)) * time.Minute
	if !c.exact {
		takes += 7 * time.Second
	}
	return takes, n/1000%4 > 0
}

// cronTwin is what batch/v1's controller makes of a CronJob, written from what that does (syncCronJob in
// k8s.io/kubernetes/pkg/controller/cronjob) and not from Ambit's policy. It goes on second by second.
type cronTwin struct {
	*cronCase
	zone        *time.Location
	created     time.Time
	last        time.Time // status.lastScheduleTime
	recent      time.Time // the last minute that the schedule matches
	isSuspended bool
	active      []twinJob
	good, bad   []string // the Jobs that have finished and are there, by run
	starts      []cronStart
}

type twinJob struct {
	name string
	ends time.Time
	good bool
}

// cronStart is a Job that was made.
type cronStart struct {
	name string
	at   time.Time
}

func newCronTwin(c *cronCase, created time.Time) *cronTwin {
	zone, err := time.LoadLocation(c.zone)
	if err != nil {
		panic(err)
	}
	return &cronTwin{cronCase: c, zone: zone, created: created}
}

// tick is a second. While the controller is down Jobs go on, and nothing else.
func (w *cronTwin) tick(now time.Time, isDown bool) {
	if now.Second() == 0 && matchesCron(w.schedule, now.In(w.zone)) {
		w.recent = now
	}
	w.active = slices.DeleteFunc(w.active, func(job twinJob) bool {
		switch {
		case now.Before(job.ends):
			return false
		case job.good:
			w.good = append(w.good, job.name)
		default:
			w.bad = append(w.bad, job.name)
		}
		return true
	})
	if !isDown {
		w.sync(now)
	}
}

// sync is syncCronJob, and then cleanupFinishedJobs.
func (w *cronTwin) sync(now time.Time) {
	earliest := w.created
	if !w.last.IsZero() {
		earliest = w.last
	}
	switch run := w.recent; {
	case w.isSuspended, !run.After(earliest):
	case w.deadline >= 0 && !now.Before(run.Add(time.Duration(w.deadline)*time.Second)):
	case w.concurrency == "Forbid" && len(w.active) > 0:
	default:
		if w.concurrency == "Replace" {
			w.active = nil
		}
		takes, good := w.work(run)
		name := fmt.Sprintf("%s-%d", w.name, run.Unix()/60)
		w.active = append(w.active, twinJob{name: name, ends: now.Add(takes), good: good})
		w.starts = append(w.starts, cronStart{name, now})
		w.last = run
	}
	w.good, w.bad = newestRuns(w.good, w.succeeded), newestRuns(w.bad, w.failed)
}

// newestRuns are the last of a list of Jobs.
func newestRuns(names []string, limit int) []string {
	slices.Sort(names)
	return names[max(0, len(names)-limit):]
}

// jobs are the names of all that are there, sorted.
func (w *cronTwin) jobs() []string {
	all := slices.Concat(w.good, w.bad, w.activeNames())
	slices.Sort(all)
	return all
}

func (w *cronTwin) activeNames() []string {
	var names []string
	for _, job := range w.active {
		names = append(names, job.name)
	}
	slices.Sort(names)
	return names
}

// matchesCron reports whether a wall clock is one of a schedule: numbers, `*`, ranges, steps and lists.
func matchesCron(schedule string, t time.Time) bool {
	fields := strings.Fields(schedule)
	in := func(i, value, lowest int) bool {
		return slices.ContainsFunc(strings.Split(fields[i], ","), func(part string) bool { return matchesPart(part, value, lowest) })
	}
	day, weekday := in(2, t.Day(), 1), in(4, int(t.Weekday()), 0)
	if fields[2] != "*" && fields[4] != "*" {
		day, weekday = day || weekday, true
	}
	return in(0, t.Minute(), 0) && in(1, t.Hour(), 0) && day && in(3, int(t.Month()), 1) && weekday
}

func matchesPart(part string, value, lowest int) bool {
	part, step, hasStep := strings.Cut(part, "/")
	from, to, isRange := strings.Cut(part, "-")
	first, last := lowest, 99
	if part != "*" {
		first = atoi(from)
		switch {
		case isRange:
			last = atoi(to)
		case !hasStep:
			last = first
		}
	}
	every := 1
	if hasStep {
		every = atoi(step)
	}
	return value >= first && value <= last && (value-first)%every == 0
}

func atoi(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}
