package cel

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/pkg/internal/timing"
)

// noon is when the questions of these tests are asked.
var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func compileTimed(t *testing.T, source string) (*Expr, []Issue) {
	t.Helper()
	env, err := NewEnv("owner", ClockVar)
	if err != nil {
		t.Fatal(err)
	}
	return env.CompileExpr(source)
}

// TestTime: what may be asked, what is answered, and what is noted.
func TestTime(t *testing.T) {
	owner := map[string]any{"until": "2026-12-01T00:00:00Z", "cron": "0 3 * * *", "zone": "Europe/Berlin", "bad": "x", "secret": "0 3 hunter2 * *", "number": int64(3)}
	cases := map[string]struct {
		reason, source string
		want           any    // nil: it fails
		fails, wake    string // what the error and the wake say, in part; "" for no wake
	}{
		"Reached":      {reason: "a timestamp that is past", source: "reached(timestamp('2026-11-27T12:00:00Z'))", want: true},
		"NotReached":   {reason: "one that is not, of the owner", source: "!reached(timestamp(owner.until))", want: true, wake: "2026-12-01T00:00:00Z reached(2026-12-01T00:00:00Z)"},
		"Unevaluated":  {reason: "a question that is not asked notes nothing", source: "true || reached(timestamp(owner.until))", want: true},
		"Last":         {reason: "the last run", source: "schedule(owner.cron, owner.zone).last()", want: "2026-11-27T02:00:00Z", wake: "2026-11-28T02:00:00Z schedule('0 3 * * *', 'Europe/Berlin') runs"},
		"Next":         {reason: "the next run, as a number", source: "int(schedule('@hourly', 'UTC').next()) / 60", want: int64(29_929_740), wake: "2026-11-27T13:00:00Z"},
		"Open":         {reason: "a window of time", source: "schedule('0 12 * * *', 'UTC').open(duration('90m'))", want: true, wake: "2026-11-27T13:30:00Z"},
		"Closed":       {reason: "that is closed", source: "schedule('0 11 * * *', 'UTC').open(duration('1h'))", want: false, wake: "2026-11-28T11:00:00Z"},
		"LastOfList":   {reason: "lists have a last as well", source: "[1, 2].last().orValue(0)", want: int64(2)},
		"Compared":     {reason: "timestamps are compared", source: "schedule('@daily', 'UTC').last() > timestamp(owner.until)", want: false, wake: "2026-11-28T00:00:00Z"},
		"Loop":         {reason: "in a loop, each is asked", source: "['2026-11-28T00:00:00Z', '2026-11-27T18:00:00Z'].filter(x, reached(timestamp(x)))", want: []any{}, wake: "2026-11-27T18:00:00Z"},
		"DynamicCron":  {reason: "a text that is no schedule, which is not told", source: "schedule(owner.secret, 'UTC').last()", fails: "schedule() wants five fields that some minute matches, as in '0 3 * * *', and was given another text"},
		"DynamicNever": {reason: "one that never runs", source: "schedule('0 0 30 ' + string(owner.number - 1) + ' *', 'UTC').last()", fails: "some minute matches"},
		"DynamicZone":  {reason: "a text that is no zone", source: "schedule('0 3 * * *', owner.bad).last()", fails: "wants the name of a time zone"},
		"NoTimestamp":  {reason: "a text is no timestamp", source: "reached(owner.until)", fails: "reached() wants a timestamp, as in reached(timestamp(owner.spec.until)), and is given string"},
		"NoText":       {reason: "a number is no text", source: "schedule(owner.number, 'UTC').last()", fails: "schedule() wants two texts"},
		"Kept":         {reason: "a schedule is no value of a field", source: "schedule('@daily', 'UTC')", fails: "schedule", wake: ""},
		"Costly":       {reason: "the search is charged", source: "lists.range(600).map(i, schedule('0 0 29 2 *', 'Europe/Berlin').last())", fails: "cost limit", wake: "2028-02-28T23:00:00Z"},
		"CostlyOpen":   {reason: "and that of windows", source: "lists.range(60).map(i, schedule('* * * * *', 'UTC').open(duration('1h')))", fails: "cost limit", wake: "2026-11-27"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			x, issues := compileTimed(t, tc.source)
			if len(issues) > 0 {
				t.Fatalf("%s: %v", tc.reason, issues)
			}
			if asks := strings.Contains(tc.source, "reached") || strings.Contains(tc.source, "schedule"); x.AsksTime() != asks {
				t.Errorf("%s: it asks the time: %t", tc.reason, x.AsksTime())
			}
			clock := timing.NewClock(noon)
			var got any
			var err error
			synctest.Test(t, func(t *testing.T) { // no time passes, so that the time limit is never what ends it
				got, err = x.Eval(t.Context(), Activation{"owner": owner, ClockVar: BindClock(clock)})
			})
			if (err != nil) != (tc.want == nil) || err != nil && !strings.Contains(err.Error(), tc.fails) || err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: got error %v, want %q", tc.reason, err, tc.fails)
			}
			if diff := cmp.Diff(tc.want, got); err == nil && diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			wake := ""
			if w := clock.EarliestWake(); w != nil {
				wake = w.At.Format(time.RFC3339) + " " + w.Reason
			}
			if !strings.HasPrefix(wake, tc.wake) || tc.wake == "" && wake != "" {
				t.Errorf("%s: it wakes at %q, want %q", tc.reason, wake, tc.wake)
			}
		})
	}
}

// TestTimeMistakes: what is wrong with a question is said where it is written.
func TestTimeMistakes(t *testing.T) {
	cases := map[string]struct {
		reason, source, want string
		offset               int
	}{
		"Cron":       {reason: "a schedule that is none", source: "schedule('0 25 * * *', 'UTC').last()", offset: 9, want: "end of range (25) above maximum (23)"},
		"Never":      {reason: "one without a run", source: "schedule('0 0 31 4 *', 'UTC').last()", offset: 9, want: "has no run"},
		"Zone":       {reason: "a zone that is none, beside a text that is not known", source: "schedule(owner.cron, 'Europe/Berln').last()", offset: 21, want: `"Europe/Berln" is no time zone`},
		"CronAlone":  {reason: "a text that is none, beside a zone that is not known", source: "schedule('daily', owner.zone).last()", offset: 9, want: `"daily" is no schedule`},
		"Type":       {reason: "a text is no timestamp", source: "reached('2026-11-27T12:00:00Z')", offset: 7, want: "reached() wants a timestamp"},
		"ZoneNumber": {reason: "a number is no zone", source: "schedule('@daily', 3).last()", offset: 8, want: "schedule() wants two texts"},
		"Reserved":   {reason: "the clock is not for expressions", source: "__clock == 3", offset: 0, want: "__clock is reserved"},
		"Method":     {reason: "a method that there is not", source: "schedule('@daily', 'UTC').previous()", offset: 34, want: "undeclared reference to 'previous'"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, issues := compileTimed(t, tc.source)
			if len(issues) != 1 || issues[0].Offset != tc.offset || !strings.Contains(issues[0].Message, tc.want) {
				t.Errorf("%s: got %+v, want %q at %d", tc.reason, issues, tc.want, tc.offset)
			}
		})
	}
	t.Run("NoClock", func(t *testing.T) {
		env, err := NewEnv("object")
		if err != nil {
			t.Fatal(err)
		}
		for _, source := range []string{"reached(object.at)", "schedule('@daily', 'UTC').open(duration('1h'))"} {
			if _, issues := env.CompileExpr(source); len(issues) != 1 || !strings.Contains(issues[0].Message, "cannot be asked here") {
				t.Errorf("%s: got %+v", source, issues)
			}
		}
	})
}
