package wakes

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/ambit-dev/ambit/pkg/controller/fairqueue"
)

// wallClock is a clock that can be set, beside timers that go on as they do.
type wallClock struct {
	clock.RealClock
	mu     sync.Mutex
	offset time.Duration
	timers int
}

func (c *wallClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset)
}

func (c *wallClock) NewTimer(d time.Duration) clock.Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timers++
	return c.RealClock.NewTimer(d)
}

// made is how many timers there were.
func (c *wallClock) made() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.timers
}

func (c *wallClock) set(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += by
}

// run runs a queue in virtual time. woken are the owners so far, with when by the clock.
func run(t *testing.T, test func(q *Queue, c *wallClock, woken func() []string)) {
	synctest.Test(t, func(t *testing.T) {
		c, ctx := &wallClock{}, t.Context()
		begin := c.Now()
		var mu sync.Mutex
		var list []string
		q := New(c, func(key fairqueue.Key) {
			mu.Lock()
			defer mu.Unlock()
			list = append(list, fmt.Sprintf("%s %s", key.Name, c.Now().Sub(begin)))
		})
		ctx, stop := context.WithCancel(ctx)
		var running sync.WaitGroup
		running.Go(func() { q.WakeOwners(ctx) })
		test(q, c, func() []string {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(list)
		})
		stop()
		running.Wait()
	})
}

func owner(name string) fairqueue.Key { return fairqueue.Key{Policy: "p", Namespace: "n", Name: name} }

func expect(t *testing.T, why string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", why, diff)
	}
}

func TestOrder(t *testing.T) {
	run(t, func(q *Queue, c *wallClock, woken func() []string) {
		now := c.Now()
		q.SetWake(owner("late"), now.Add(3*time.Hour))
		q.SetWake(owner("gone"), now.Add(time.Hour))
		q.SetWake(owner("early"), now.Add(2*time.Hour))
		q.SetWake(owner("moved"), now.Add(time.Minute))
		q.SetWake(owner("moved"), now.Add(4*time.Hour))
		q.RemoveWake(owner("gone"))
		q.RemoveWake(owner("nobody"))
		time.Sleep(2*time.Hour - time.Second)
		expect(t, "not before its time", woken())
		time.Sleep(time.Second)
		expect(t, "at its time", woken(), "early 2h0m0s")
		time.Sleep(24 * time.Hour)
		expect(t, "each once, as it was set last", woken(), "early 2h0m0s", "late 3h0m0s", "moved 4h0m0s")
		if waiting, count := q.CountWakes(); waiting != 0 || count != 3 {
			t.Errorf("%d wait, %d were woken", waiting, count)
		}
		q.SetWake(owner("past"), now)
		expect(t, "what is past is due", woken(), "early 2h0m0s", "late 3h0m0s", "moved 4h0m0s", "past 26h0m0s")
	})
}

// TestJumps: a clock that is set, by a day either way, loses nothing.
func TestJumps(t *testing.T) {
	const day = 24 * time.Hour
	run(t, func(q *Queue, c *wallClock, woken func() []string) {
		q.SetWake(owner("a"), c.Now().Add(12*time.Hour))
		q.SetWake(owner("b"), c.Now().Add(36*time.Hour))
		time.Sleep(time.Hour + 10*time.Second)
		c.set(day)
		time.Sleep(recheck)
		expect(t, "what is due after a jump is woken within a minute", woken(), "a 25h1m0s")
		time.Sleep(11*time.Hour - 70*time.Second)
		expect(t, "and the next by the clock", woken(), "a 25h1m0s", "b 36h0m0s")
	})
	run(t, func(q *Queue, c *wallClock, woken func() []string) {
		q.SetWake(owner("a"), c.Now().Add(12*time.Hour))
		time.Sleep(time.Hour + 10*time.Second)
		expect(t, "not yet", woken())
		c.set(-day)
		time.Sleep(recheck)
		expect(t, "when the clock goes back what waits is looked at again", woken(), "a -22h59m0s")
		q.SetWake(owner("a"), c.Now().Add(time.Hour))
		time.Sleep(time.Hour)
		expect(t, "once", woken(), "a -22h59m0s", "a -21h58m50s")
	})
	run(t, func(q *Queue, c *wallClock, woken func() []string) {
		q.SetWake(owner("a"), c.Now().Add(time.Hour))
		for range 30 {
			time.Sleep(time.Minute)
			c.set(-setBack / 2)
		}
		expect(t, "a clock that is corrected by little has not jumped", woken())
	})
}

// TestQuiet: while ten thousand owners wait for a day nothing is done but to compare, once a minute; without any, nothing.
func TestQuiet(t *testing.T) {
	run(t, func(q *Queue, c *wallClock, woken func() []string) {
		time.Sleep(24 * time.Hour)
		if made := c.made(); made != 0 {
			t.Errorf("%d timers were made without a wake", made)
		}
		const owners = 10_000
		for i := range owners {
			q.SetWake(owner(fmt.Sprint(i)), c.Now().Add(24*time.Hour))
		}
		before := c.made()
		time.Sleep(24*time.Hour - time.Second)
		expect(t, "nobody is woken before", woken())
		if made, most := c.made()-before, 24*60+1; made > most {
			t.Errorf("%d timers were made in a day, want %d at most", made, most)
		}
		time.Sleep(time.Second)
		if got := len(woken()); got != owners {
			t.Errorf("%d of %d owners were woken", got, owners)
		}
	})
}

// BenchmarkSet is one owner's next wake among ten thousand.
func BenchmarkSet(b *testing.B) {
	q, now := New(clock.RealClock{}, func(fairqueue.Key) {}), time.Now()
	for i := range 10_000 {
		q.SetWake(owner(fmt.Sprint(i)), now.Add(time.Duration(i)*time.Second))
	}
	key, i := owner("5000"), 0
	for b.Loop() {
		q.SetWake(key, now.Add(time.Duration(i%20_000)*time.Second))
		i += 7919
	}
}
