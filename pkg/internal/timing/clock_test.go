package timing

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestNoTime(t *testing.T) {
	for _, clock := range []*Clock{{}, NewClock(time.Time{})} {
		if _, err := clock.HasReached(time.Unix(0, 0)); !errors.Is(err, ErrNoTime) {
			t.Errorf("reached: got %v", err)
		}
		if _, err := clock.RunsOf(parse(t, "@daily", "UTC")); !errors.Is(err, ErrNoTime) {
			t.Errorf("schedule: got %v", err)
		}
		if clock.EarliestWake() != nil {
			t.Errorf("it wakes at %v", clock.EarliestWake())
		}
	}
}

// TestWake: each question notes when its answer changes, and the earliest is the wake.
func TestWake(t *testing.T) {
	const now = "2026-11-27T12:00:00.9Z" // clocks stand at whole seconds
	nightly := parse(t, "0 3 * * *", "Europe/Berlin")
	open := func(during time.Duration) func(*Clock) any {
		return func(c *Clock) any {
			runs, err := c.RunsOf(nightly)
			if err != nil {
				return err
			}
			return runs.IsOpen(during)
		}
	}
	reached := func(text string) func(*Clock) any {
		return func(c *Clock) any { is, _ := c.HasReached(at(t, text)); return is }
	}
	cases := map[string]struct {
		reason string
		ask    []func(*Clock) any
		want   []any
		wake   *Wake
	}{
		"Past":     {reason: "what is reached stays so", ask: []func(*Clock) any{reached("2026-11-27T12:00:00Z")}, want: []any{true}},
		"Future":   {reason: "what is not, until then", ask: []func(*Clock) any{reached("2026-11-27T12:00:01Z")}, want: []any{false}, wake: &Wake{at(t, "2026-11-27T12:00:01Z"), "reached(2026-11-27T12:00:01Z)"}},
		"Fraction": {reason: "clocks stand at whole seconds, so it is reached with the next", ask: []func(*Clock) any{reached("2026-11-27T12:00:00.5Z")}, want: []any{false}, wake: &Wake{at(t, "2026-11-27T12:00:01Z"), "reached(2026-11-27T12:00:01Z)"}},
		"Earliest": {
			reason: "of several the earliest", ask: []func(*Clock) any{reached("2027-01-01T00:00:00Z"), reached("2026-12-24T00:00:00Z"), reached("2028-01-01T00:00:00Z")},
			want: []any{false, false, false}, wake: &Wake{at(t, "2026-12-24T00:00:00Z"), "reached(2026-12-24T00:00:00Z)"},
		},
		"Last": {
			reason: "the last run changes with the next", ask: []func(*Clock) any{func(c *Clock) any { runs, _ := c.RunsOf(nightly); return runs.LastRun() }},
			want: []any{at(t, "2026-11-27T02:00:00Z")}, wake: &Wake{at(t, "2026-11-28T02:00:00Z"), "schedule('0 3 * * *', 'Europe/Berlin') runs at 2026-11-28T02:00:00Z"},
		},
		"Next": {
			reason: "and so does the next", ask: []func(*Clock) any{func(c *Clock) any { runs, _ := c.RunsOf(nightly); return runs.NextRun() }},
			want: []any{at(t, "2026-11-28T02:00:00Z")}, wake: &Wake{at(t, "2026-11-28T02:00:00Z"), "schedule('0 3 * * *', 'Europe/Berlin') runs at 2026-11-28T02:00:00Z"},
		},
		"Closed": {
			reason: "what is closed opens with the next run", ask: []func(*Clock) any{open(time.Hour)},
			want: []any{false}, wake: &Wake{at(t, "2026-11-28T02:00:00Z"), "schedule('0 3 * * *', 'Europe/Berlin') runs at 2026-11-28T02:00:00Z"},
		},
		"Open": {
			reason: "what is open closes", ask: []func(*Clock) any{open(11 * time.Hour)},
			want: []any{true}, wake: &Wake{at(t, "2026-11-27T13:00:00Z"), "schedule('0 3 * * *', 'Europe/Berlin') has been open for 11h0m0s at 2026-11-27T13:00:00Z"},
		},
		"Closing":   {reason: "at its end it is closed", ask: []func(*Clock) any{open(10 * time.Hour)}, want: []any{false}, wake: &Wake{at(t, "2026-11-28T02:00:00Z"), "schedule('0 3 * * *', 'Europe/Berlin') runs at 2026-11-28T02:00:00Z"}},
		"NeverOpen": {reason: "nothing is shorter than no time", ask: []func(*Clock) any{open(0), open(-time.Hour)}, want: []any{false, false}},
		"AlwaysOpen": {
			reason: "a window that never closes is looked at again now and then", ask: []func(*Clock) any{open(25 * time.Hour)},
			want: []any{true}, wake: &Wake{at(t, "2026-12-04T21:32:40Z"), "schedule('0 3 * * *', 'Europe/Berlin') is open for 25h0m0s again and again, and is looked at again at 2026-12-04T21:32:40Z"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			clock := NewClock(at(t, now))
			var got []any
			for _, ask := range tc.ask {
				got = append(got, ask(clock))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.wake, clock.EarliestWake()); diff != "" {
				t.Errorf("%s: the wake (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestAnswersLast: all answers stay the same until the wake, and one of them is another then.
func TestAnswersLast(t *testing.T) {
	schedules := []*Schedule{
		parse(t, "*/20 * * * *", "UTC"), parse(t, "30 2 * * *", "Europe/Berlin"), parse(t, "45 1 * * *", "Australia/Lord_Howe"),
		parse(t, "0 0 1 * 1", "America/Sao_Paulo"), parse(t, "0 9-17 * * 1-5", "America/New_York"),
	}
	rapid.Check(t, func(t *rapid.T) {
		start := time.Unix(rapid.Int64Range(1514764800, 1830297600).Draw(t, "start"), 0)
		instant := rapid.Custom(func(t *rapid.T) time.Time {
			return start.Add(time.Duration(rapid.Int64Range(-1e15, 1e16).Draw(t, "instant")))
		})
		var questions []func(*Clock) string
		for range rapid.IntRange(1, 4).Draw(t, "questions") {
			s, during, when := rapid.SampledFrom(schedules).Draw(t, "schedule"), time.Duration(rapid.Int64Range(1, 4e13).Draw(t, "during")), instant.Draw(t, "when")
			kind := rapid.IntRange(0, 3).Draw(t, "kind")
			questions = append(questions, func(c *Clock) string {
				runs, err := c.RunsOf(s)
				if err != nil {
					return err.Error()
				}
				switch kind {
				case 0:
					is, err := c.HasReached(when)
					return fmt.Sprint(is, err)
				case 1:
					return runs.LastRun().String()
				case 2:
					return runs.NextRun().String()
				}
				return fmt.Sprint(runs.IsOpen(during))
			})
		}
		answer := func(now time.Time) (string, *Wake) {
			c, text := NewClock(now), ""
			for _, ask := range questions {
				text += ask(c) + "\n"
			}
			return text, c.EarliestWake()
		}
		now := start
		for range 10 {
			text, wake := answer(now)
			if wake == nil {
				if later, _ := answer(now.AddDate(20, 0, 0)); later != text {
					t.Fatalf("at %s no wake, and the answers change: %s and %s", now, text, later)
				}
				return
			}
			if !wake.At.After(now) {
				t.Fatalf("at %s it wakes at %s", now, wake.At)
			}
			span := int64(wake.At.Sub(now) / time.Second)
			for _, between := range []int64{span / 2, span - 1, rapid.Int64Range(0, span-1).Draw(t, "between")} {
				if same, again := answer(now.Add(time.Duration(between) * time.Second)); same != text || *again != *wake {
					t.Fatalf("%d s after %s of %d until the wake: %s and %s; wakes %v and %v", between, now, span, text, same, wake, again)
				}
			}
			if then, _ := answer(wake.At); then == text && !strings.Contains(wake.Reason, "again and again") {
				t.Fatalf("at %s it wakes at %s for nothing: %s\n%s", now, wake.At, wake.Reason, text)
			}
			now = wake.At
		}
	})
}
