package writeconflict

import (
	"testing"
	"time"
)

// TestBackoff: one who writes over the status at once, each time, for an hour.
func TestBackoff(t *testing.T) {
	cases := map[string]struct {
		reason         string
		says           func(turn int) string
		minute, atMost int // writes in the first minute, and in the hour
	}{
		"TheSame": {
			reason: "the wait grows to about a minute",
			says:   func(int) string { return "ready" }, minute: 8, atMost: 70,
		},
		"Flipping": {
			reason: "to want now this and now that is no way round",
			says:   func(turn int) string { return []string{"ready", "conflict"}[turn%2] }, minute: 16, atMost: 730,
		},
		"AlwaysNew": {
			reason: "nor is a counter",
			says:   func(turn int) string { return time.Duration(turn).String() }, minute: 16, atMost: 730,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var b Backoff
			longest := time.Duration(0)
			written := writeForAnHour(0, func(writes int, now time.Time) time.Duration {
				wait := b.WaitToWrite(tc.says(writes), now)
				if longest = max(longest, wait); wait == 0 {
					b.RecordWrite(tc.says(writes), growingWait, now)
				}
				return wait
			})
			minute, writes := written.within(time.Minute), written.within(time.Hour)
			if minute > tc.minute || writes > tc.atMost || writes < 50 {
				t.Errorf("%s: %d writes in a minute, want at most %d, and %d in an hour, want at most %d", tc.reason, minute, tc.minute, writes, tc.atMost)
			}
			if longest > 73*time.Second {
				t.Errorf("the longest wait was %s: if the other stops, our word stands too late", longest)
			}
		})
	}
}

// TestBackoffEnds: a first contested write waits for nothing, nor one after a time in which
// our word stood; what is news waits less.
func TestBackoffEnds(t *testing.T) {
	var b Backoff
	now := time.Unix(1000, 0)
	if wait := b.WaitToWrite("a", now); wait != 0 {
		t.Errorf("the first waits %s", wait)
	}
	for range 20 {
		b.RecordWrite("a", growingWait, now)
	}
	if wait := b.WaitToWrite("a", now); wait < MaxWait {
		t.Errorf("the same waits %s", wait)
	}
	if wait := b.WaitToWrite("b", now); wait != NewsWait {
		t.Errorf("news waits %s", wait)
	}
	if wait := b.WaitToWrite("b", now.Add(NewsWait)); wait != 0 {
		t.Errorf("news waits another %s", wait)
	}
	if b.until.Sub(now) >= Over {
		t.Errorf("it is over while a write waits until %s later", b.until.Sub(now))
	}
	now = now.Add(Over)
	if wait := b.WaitToWrite("a", now); wait != 0 {
		t.Errorf("after a long time it waits %s", wait)
	}
	b.RecordWrite("a", growingWait, now)
	if wait := b.WaitToWrite("a", now); wait > time.Second {
		t.Errorf("a second contest begins with a wait of %s", wait)
	}
}

// TestLostWrite: a write that comes too late waits as one that was done does, but what it was to say
// is still news.
func TestLostWrite(t *testing.T) {
	var b Backoff
	now := time.Unix(1000, 0)
	for range 10 {
		b.RecordWrite("a", growingWait, now)
	}
	b.RecordLostWrite(growingWait, now)
	if b.writes != 11 || b.WaitToWrite("a", now) < MaxWait || b.WaitToWrite("b", now) != NewsWait {
		t.Errorf("%d writes, the old one waits %s and the new one %s", b.writes, b.WaitToWrite("a", now), b.WaitToWrite("b", now))
	}
}
