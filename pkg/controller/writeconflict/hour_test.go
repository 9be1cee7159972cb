package writeconflict

import (
	"testing"
	"time"

	"github.com/ambit-dev/ambit/pkg/internal/backoff"
)

// growingWait is a Wait as the controller has it, without jitter.
func growingWait(failures int) time.Duration {
	return backoff.Exponential{First: 200 * time.Millisecond, Last: MaxWait}.WaitAfter(failures + 1)
}

// writeTimes are when something was written, from the beginning on.
type writeTimes []time.Duration

// within counts the writes up to a time.
func (w writeTimes) within(most time.Duration) (n int) {
	for _, at := range w {
		if at <= most {
			n++
		}
	}
	return n
}

// checkPace fails the test if there are more writes in 20 s, or in the hour, than these, or less than
// atLeast in the hour.
func (w writeTimes) checkPace(t *testing.T, reason string, soon, hour, atLeast int) {
	t.Helper()
	inSeconds, inHour := w.within(20*time.Second), w.within(time.Hour)
	t.Logf("%d writes in 20 s, %d in an hour", inSeconds, inHour)
	if inSeconds > soon || inHour > hour || inHour < atLeast {
		t.Errorf("%s: %d writes in 20 s, want at most %d, and %d in an hour, want %d to %d", reason, inSeconds, soon, inHour, atLeast, hour)
	}
}

// writeForAnHour has a write tried, and tried again when it says so, for an hour of virtual time. try is
// given how many writes there were. It writes, and returns 0, or returns how long it has to wait.
// Each write is undone after that time, a millisecond at least.
func writeForAnHour(undoneAfter time.Duration, try func(writes int, now time.Time) (wait time.Duration)) (written writeTimes) {
	began := time.Unix(1000, 0)
	for now := began; now.Sub(began) < time.Hour; {
		if wait := try(len(written), now); wait > 0 {
			now = now.Add(wait)
			continue
		}
		written = append(written, now.Sub(began))
		now = now.Add(max(undoneAfter, time.Millisecond))
	}
	return written
}
