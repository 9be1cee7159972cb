package sim_test

import (
	"sync"
	"testing"
	"time"
	"unsafe"

	"k8s.io/utils/clock"
)

// setClock is a clock that users set: its wall clock jumps, while the time that has passed is measured as before. It is safe for concurrent use.
type setClock struct {
	clock.RealClock
	mu      sync.Mutex
	offset  time.Duration
	highest time.Duration // that the offset was
}

// Now implements clock.PassiveClock.
func (c *setClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return movedWall(time.Now(), c.offset)
}

// Since implements clock.PassiveClock.
func (c *setClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// move sets the clock forward, or back.
func (c *setClock) move(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += by
	c.highest = max(c.highest, c.offset)
}

// mostAhead is the most that the clock has been ahead of the server's.
func (c *setClock) mostAhead() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.highest
}

// movedWall returns a time whose wall clock is moved, and whose monotonic one is not; package time has no function for that, and in virtual
// time it has no monotonic clock.
func movedWall(now time.Time, by time.Duration) (moved time.Time) {
	const hasMonotonic, secondsAt = 1 << 63, 30 // bits, as package time has them
	wall := now.Round(0).Add(by)
	parts := (*struct {
		wall      uint64 // a bit that there is a monotonic clock, 33 bits of seconds since 1885, 30 bits of nanoseconds
		monotonic int64
		zone      *time.Location
	})(unsafe.Pointer(&moved))
	seconds := wall.Unix() - time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	parts.wall = hasMonotonic | uint64(seconds)<<secondsAt | uint64(wall.Nanosecond())
	parts.monotonic = now.UnixNano()
	return moved
}

// TestSetClock: the wall clock is another one, and what has passed is not.
func TestSetClock(t *testing.T) {
	now := time.Now()
	later := now.Add(time.Minute)
	for _, by := range []time.Duration{0, time.Nanosecond, -time.Nanosecond, time.Hour, -26*time.Hour - time.Millisecond, 999 * time.Millisecond, -999 * time.Millisecond} {
		moved := movedWall(later, by)
		if got, want := moved.Round(0), later.Round(0).Add(by); !got.Equal(want) {
			t.Errorf("moved by %s: %s, want %s", by, got, want)
		}
		if passed := moved.Sub(movedWall(now, 0)); passed != time.Minute {
			t.Errorf("moved by %s: %s has passed", by, passed)
		}
	}
}
