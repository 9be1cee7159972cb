package plan

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ambit-dev/ambit/test/raced"
)

// timedPolicies is how many policies TestTime draws: a thousand take some minutes.
var timedPolicies = flag.Int("timed-policies", raced.Few(1, 20), "how many policies TestTime draws")

// TestTime draws policies that ask the time in all that they may, and follows each through a year from wake to wake:
// at any instant between the time of a plan and its wake the plan is the same, byte for byte, and at each wake it
// says something else than before.
func TestTime(t *testing.T) {
	count, wakes := *timedPolicies, 0
	for seed := range count {
		d := timeDraw{rand.New(rand.NewPCG(uint64(seed), 15))}
		o := &operator{world: &world{}, program: compile(t, d.policy())}
		o.setOwner(t, d.owner())
		wakes += followYear(t, d, o)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if wakes < 20*count {
		t.Errorf("%d policies had %d wakes: too few to tell", count, wakes)
	}
}

var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// followYear plans for an owner at each wake of a year, and returns how many there were.
func followYear(t *testing.T, d timeDraw, o *operator) (wakes int) {
	planAt := func(now time.Time) (text string, wake *Wake) {
		o.now = now
		planned := o.plan(t)
		return planned.String(), planned.Wake
	}
	end := newYear.AddDate(1, 0, 0)
	text, wake := planAt(newYear)
	for now := newYear; ; wakes++ {
		until := end
		if wake != nil && wake.At.Before(end) {
			until = wake.At
		}
		for _, between := range []time.Time{until.Add(-time.Nanosecond), now.Add(time.Duration(d.Int64N(int64(until.Sub(now)))))} {
			if same, _ := planAt(between); same != text {
				t.Errorf("at %s the plan is another than at %s, and it wakes at %v\n%s\nbefore:\n%s", between, now, wake, same, text)
				return wakes
			}
		}
		if until.Equal(end) || strings.Contains(text, "\nexpire: ") { // of an owner that is deleted not all answers show
			return wakes
		}
		then, next := planAt(until)
		if said := withoutWake(then); said == withoutWake(text) {
			t.Errorf("at %s it wakes for nothing: %s\n%s", until, wake.Reason, said)
			return wakes
		}
		now, text, wake = until, then, next
	}
}

// withoutWake is what a plan says, but for when it changes next.
func withoutWake(text string) string {
	said, _, _ := strings.Cut(text, "\nwake: ")
	return said
}

// timeDraw draws policies that ask the time.
type timeDraw struct{ *rand.Rand }

func (d timeDraw) pick(values ...string) string { return values[d.IntN(len(values))] }

// schedule has no more than some hundred runs a year.
func (d timeDraw) schedule() string {
	text := fmt.Sprintf("%d %d ", d.IntN(60), d.IntN(24)) +
		d.pick("* * 0", "1 * *", "1,15 * *", "* * 1-2", "*/5 * *", "29 2 *", "* 3,10 *", "25-31 3,10 *", "13 * 5")
	if d.IntN(3) == 0 {
		return fmt.Sprintf("schedule(owner.spec.cron, '%s')", d.zone())
	}
	return fmt.Sprintf("schedule('%s', '%s')", text, d.zone())
}

func (d timeDraw) zone() string {
	return d.pick("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Asia/Kathmandu")
}

// question is of type bool, and text of type string; the answers of both show.
func (d timeDraw) question() string {
	switch d.IntN(3) {
	case 0:
		return d.schedule() + ".open(duration('" + d.pick("1s", "90m", "20h") + "'))"
	case 1:
		return "reached(timestamp('" + d.instant() + "'))"
	}
	return "reached(timestamp(owner.spec.until) + duration('" + d.pick("1s", "0.5s", "-240h", "1000h") + "'))"
}

func (d timeDraw) text() string {
	return "string(" + d.schedule() + d.pick(".last()", ".next()") + ")"
}

func (d timeDraw) instant() string {
	return newYear.Add(time.Duration(d.Int64N(int64(400 * 24 * time.Hour)))).Format(d.pick(time.RFC3339, time.RFC3339Nano))
}

func (d timeDraw) policy() string {
	var b strings.Builder
	fmt.Fprintf(&b, "variables:\n- {name: v, expression: %q}\n- {name: w, expression: %q}\n", d.question(), "v ? 'yes' : "+d.text())
	b.WriteString("children:\n")
	for i := range 1 + d.IntN(2) {
		at, forEach := "${"+d.text()+"}", ""
		if d.IntN(3) == 0 {
			at, forEach = "${run}", fmt.Sprintf("  forEach: {as: run, in: %q}\n", "["+d.text()+"]")
		}
		fmt.Fprintf(&b, "- id: c%d\n%s  template: {apiVersion: example.com/v1, kind: Widget, metadata: {name: c%d}, spec: {at: %q}}\n", i, forEach, i, at)
		if d.IntN(2) == 0 {
			fmt.Fprintf(&b, "  when: %q\n", d.question())
		}
	}
	fmt.Fprintf(&b, "status: {at: %q, w: '${w}'}\n", "${"+d.text()+"}")
	fmt.Fprintf(&b, "conditions:\n- {type: Asked, status: %q, message: %q}\n", d.question(), d.text())
	fmt.Fprintf(&b, "- {type: Known, status: v, message: w}\n")
	if d.IntN(4) == 0 {
		fmt.Fprintf(&b, "expire: \"reached(timestamp('%s'))\"\n", d.instant())
	}
	return b.String()
}

func (d timeDraw) owner() string {
	return fmt.Sprintf("spec: {until: %q, cron: '%d %d * * 3'}", d.instant(), d.IntN(60), d.IntN(24))
}
