package timing

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/robfig/cron/v3"
	"pgregory.net/rapid"

	_ "github.com/ambit-dev/ambit/test/draws"
	"github.com/ambit-dev/ambit/test/raced"
)

func parse(t testing.TB, text, zone string) *Schedule {
	t.Helper()
	s, err := new(Zones).ParseSchedule(text, zone)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func at(t testing.TB, text string) time.Time {
	t.Helper()
	instant, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return instant.UTC()
}

// TestDaylightSaving: the runs around the nights in which clocks change, in five zones: north and south,
// at midnight, by half an hour, and one that has changed its mind.
func TestDaylightSaving(t *testing.T) {
	cases := map[string]struct {
		reason, text, zone, after string
		want                      []string // in the zone
	}{
		"Skipped": {
			reason: "02:30 does not exist on the last Sunday of March", text: "30 2 * * *", zone: "Europe/Berlin", after: "2026-03-27T12:00:00Z",
			want: []string{"2026-03-28T02:30:00+01:00", "2026-03-30T02:30:00+02:00"},
		},
		"Twice": {
			reason: "02:30 exists twice on the last Sunday of October", text: "30 2 * * *", zone: "Europe/Berlin", after: "2026-10-24T12:00:00Z",
			want: []string{"2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00", "2026-10-26T02:30:00+01:00"},
		},
		"Hourly": {
			reason: "each hour of the clock's is a run, and there are no two at one instant", text: "0 * * * *", zone: "America/New_York", after: "2026-03-08T05:30:00Z",
			want: []string{"2026-03-08T01:00:00-05:00", "2026-03-08T03:00:00-04:00", "2026-03-08T04:00:00-04:00"},
		},
		"HourlyBack": {
			reason: "and back", text: "0 * * * *", zone: "America/New_York", after: "2026-11-01T04:30:00Z",
			want: []string{"2026-11-01T01:00:00-04:00", "2026-11-01T01:00:00-05:00", "2026-11-01T02:00:00-05:00"},
		},
		"Midnight": {
			reason: "a day without midnight", text: "0 0 * * *", zone: "America/Sao_Paulo", after: "2018-11-02T12:00:00Z",
			want: []string{"2018-11-03T00:00:00-03:00", "2018-11-05T00:00:00-02:00"},
		},
		"AfterMidnight": {
			reason: "and one that begins at one o'clock", text: "0 1 * * *", zone: "America/Sao_Paulo", after: "2018-11-03T12:00:00Z",
			want: []string{"2018-11-04T01:00:00-02:00", "2018-11-05T01:00:00-02:00"},
		},
		"HalfAnHour": {
			reason: "clocks go back by half an hour at two, to half past one", text: "0 2 * * *", zone: "Australia/Lord_Howe", after: "2026-04-04T00:00:00Z",
			want: []string{"2026-04-05T02:00:00+10:30", "2026-04-06T02:00:00+10:30"},
		},
		"HalfAnHourTwice": {
			reason: "and a quarter to two comes twice", text: "45 1 * * *", zone: "Australia/Lord_Howe", after: "2026-04-04T00:00:00Z",
			want: []string{"2026-04-05T01:45:00+11:00", "2026-04-05T01:45:00+10:30", "2026-04-06T01:45:00+10:30"},
		},
		"South": {
			reason: "in the south clocks go forward in September", text: "30 2 * * 0", zone: "Pacific/Auckland", after: "2026-09-20T00:00:00Z",
			want: []string{"2026-10-04T02:30:00+13:00", "2026-10-11T02:30:00+13:00"},
		},
		"LeapDay": {
			reason: "the 29th of February, also over the century that has none", text: "0 0 29 2 *", zone: "UTC", after: "2092-03-01T00:00:00Z",
			want: []string{"2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z"},
		},
		"DayOrWeekday": {
			reason: "a day of the month and one of the week are either, as in cron", text: "0 0 13 * 5", zone: "UTC", after: "2026-11-01T00:00:00Z",
			want: []string{"2026-11-06T00:00:00Z", "2026-11-13T00:00:00Z", "2026-11-20T00:00:00Z"},
		},
		"Descriptor": {reason: "a word for fields", text: "@weekly", zone: "Asia/Kathmandu", after: "2026-11-01T00:00:00Z", want: []string{"2026-11-08T00:00:00+05:45"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := parse(t, tc.text, tc.zone)
			var got []string
			before := at(t, tc.after)
			for range tc.want {
				run := s.NextRun(before)
				got = append(got, run.In(s.zone).Format(time.RFC3339))
				for _, until := range []time.Time{run, run.Add(time.Second), s.NextRun(run).Add(-time.Nanosecond)} {
					if last := s.LastRun(until); !last.Equal(run) {
						t.Errorf("%s: the last run until %s is %s, want %s", tc.reason, until, last, run)
					}
				}
				before = run
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// twin finds runs by looking at each minute.
type twin struct {
	minutes, hours, days, months, weekdays map[int]bool
	anyDay, anyWeekday                     bool
	zone                                   *time.Location
}

func (w twin) runs(minute time.Time) bool {
	t := minute.In(w.zone)
	day, weekday := w.days[t.Day()], w.weekdays[int(t.Weekday())]
	matches := day && weekday
	if !w.anyDay && !w.anyWeekday {
		matches = day || weekday
	}
	return matches && w.minutes[t.Minute()] && w.hours[t.Hour()] && w.months[int(t.Month())]
}

func (w twin) scan(t time.Time, step time.Duration) time.Time {
	for range 60 * 24 * 60 {
		if w.runs(t) {
			return t
		}
		t = t.Add(step)
	}
	return time.Time{}
}

// drawField draws a field and the values that it stands for.
func drawField(t *rapid.T, name string, first, last int) (text string, values map[int]bool, any bool) {
	values = map[int]bool{}
	if rapid.Bool().Draw(t, name+" is a star") {
		for v := first; v <= last; v++ {
			values[v] = true
		}
		return "*", values, true
	}
	var parts []string
	for range rapid.IntRange(1, 2).Draw(t, name+" parts") {
		from := rapid.IntRange(first, last).Draw(t, name)
		to, step := rapid.IntRange(from, last).Draw(t, name+" to"), rapid.IntRange(1, 7).Draw(t, name+" step")
		parts = append(parts, fmt.Sprintf("%d-%d/%d", from, to, step))
		for v := from; v <= to; v += step {
			values[v] = true
		}
	}
	return strings.Join(parts, ","), values, false
}

var zoneNames = []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Auckland", "Asia/Kathmandu", "Antarctica/Troll", "Africa/Casablanca"}

// TestTwin: the runs are exactly the minutes that match.
func TestTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := twin{}
		var text [5]string
		text[0], w.minutes, _ = drawField(t, "minute", 0, 59)
		text[1], w.hours, _ = drawField(t, "hour", 0, 23)
		text[2], w.days, w.anyDay = drawField(t, "day", 1, 28)
		text[3], w.months, _ = "*", map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true, 9: true, 10: true, 11: true, 12: true}, true
		text[4], w.weekdays, w.anyWeekday = drawField(t, "weekday", 0, 6)
		if w.anyDay {
			for day := 29; day <= 31; day++ {
				w.days[day] = true
			}
		}
		name := rapid.SampledFrom(zoneNames).Draw(t, "zone")
		s, err := new(Zones).ParseSchedule(strings.Join(text[:], " "), name)
		if err != nil {
			t.Fatal(err)
		}
		w.zone = s.zone
		now := time.Unix(rapid.Int64Range(1514764800, 1830297600).Draw(t, "now"), 0).UTC()
		if rapid.Bool().Draw(t, "near a change of clocks") {
			if _, end := now.In(s.zone).ZoneBounds(); !end.IsZero() {
				now = end.UTC().Add(time.Duration(rapid.IntRange(-7200, 7200).Draw(t, "seconds")) * time.Second)
			}
		}
		minute := now.Truncate(time.Minute)
		if want := w.scan(minute.Add(time.Minute), time.Minute); !want.IsZero() && !s.NextRun(now).Equal(want) {
			t.Fatalf("%s after %s: %s, want %s", s.name, now, s.NextRun(now), want)
		}
		if want := w.scan(minute, -time.Minute); !want.IsZero() && !s.LastRun(now).Equal(want) {
			t.Fatalf("%s until %s: %s, want %s", s.name, now, s.LastRun(now), want)
		}
	})
}

// TestKubernetes: where clocks change by whole hours the runs are those that the library has itself, which is
// what Kubernetes goes by.
func TestKubernetes(t *testing.T) {
	raced.Skip(t)
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Pacific/Auckland", "Asia/Kathmandu"} {
		for _, text := range []string{"30 2 * * *", "0 0 * * *", "15 * * * *", "*/10 1-3 * * 0", "0 12 1,15 * *", "59 23 28-31 * *"} {
			theirs, err := cron.ParseStandard("TZ=" + zone + " " + text)
			if err != nil {
				t.Fatal(err)
			}
			ours, a, b := parse(t, text, zone), at(t, "2017-12-31T23:00:00Z"), at(t, "2017-12-31T23:00:00Z")
			for a.Year() < 2020 {
				if a, b = ours.NextRun(a), theirs.Next(b).UTC(); !a.Equal(b) {
					t.Errorf("%s: %s, and the library has %s", ours.name, a, b)
					break
				}
			}
		}
	}
}

func TestParseErrors(t *testing.T) {
	cases := map[string]struct{ reason, text, zone, want string }{
		"Empty":    {reason: "no text", zone: "UTC", want: "no schedule of five fields"},
		"Fields":   {reason: "seconds are no field", text: "0 0 3 * * *", zone: "UTC", want: "expected exactly 5 fields"},
		"Range":    {reason: "beyond the clock", text: "0 24 * * *", zone: "UTC", want: "above maximum"},
		"Zone":     {reason: "a name that does not exist", text: "0 3 * * *", zone: "Europe/Berln", want: `"Europe/Berln" is no time zone`},
		"NoZone":   {reason: "empty would be UTC, without a word", text: "0 3 * * *", want: "is no time zone"},
		"Local":    {reason: "what the machine is set to is not the same everywhere", text: "0 3 * * *", zone: "Local", want: "is no time zone"},
		"Path":     {reason: "a name is no path", text: "0 3 * * *", zone: "../../etc/passwd", want: "is no time zone"},
		"ZoneText": {reason: "the library's own way, which panics over some texts", text: "TZ=UTC", zone: "UTC", want: "as the second argument"},
		"CronZone": {reason: "and the other", text: "CRON_TZ=UTC 0 3 * * *", zone: "UTC", want: "as the second argument"},
		"Every":    {reason: "it counts from when it is started", text: "@every 1h", zone: "UTC", want: "no fixed instants"},
		"Reboot":   {reason: "a word that is none", text: "@reboot", zone: "UTC", want: "unrecognized descriptor"},
		"Never":    {reason: "a day that does not exist", text: "0 0 30 2 *", zone: "Europe/Berlin", want: "has no run"},
		"Long":     {reason: "a text without end", text: strings.Repeat("1,", 200) + "1 * * * *", zone: "UTC", want: "at most 256 bytes"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := new(Zones).ParseSchedule(tc.text, tc.zone); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

// FuzzParse: whatever the text, it is refused or has runs in order.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"0 3 * * *", "*/7 1-3,5 1 1 0", "@daily", "TZ=0", "? ? ? ? ?", "0 0 31 4 *", "0 0 29 2 1"} {
		f.Add(text, int64(1_700_000_000))
	}
	f.Fuzz(func(t *testing.T, text string, seconds int64) {
		s, err := new(Zones).ParseSchedule(text, "America/Sao_Paulo")
		if err != nil {
			return
		}
		now := time.Unix(seconds%4_000_000_000, 0).UTC()
		last, next := s.LastRun(now), s.NextRun(now)
		if last.After(now) || !next.After(now) || !s.NextRun(last).Equal(next) || !s.LastRun(next).Equal(next) {
			t.Errorf("%q at %s: last %s, next %s", text, now, last, next)
		}
	})
}

func BenchmarkRuns(b *testing.B) {
	zones := new(Zones)
	for name, text := range map[string]string{"Minute": "* * * * *", "Day": "0 3 * * *", "LeapDay": "0 0 29 2 *", "Never": "0 0 30 2 *"} {
		b.Run(name, func(b *testing.B) {
			clock := NewClock(time.Unix(1_700_000_000, 0))
			for b.Loop() {
				if s, err := zones.ParseSchedule(text, "Europe/Berlin"); err == nil {
					_, _ = clock.RunsOf(s)
				}
			}
		})
	}
}
