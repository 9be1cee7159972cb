package wakeup

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

func TestWaitFor(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		wait   time.Duration
		do     func(wake chan struct{}, end func())
		want   Cause
		after  time.Duration
	}{
		"Time":    {"Its time passes.", time.Minute, func(chan struct{}, func()) {}, TimePassed, time.Minute},
		"None":    {"A wait of no time is over at once.", 0, func(chan struct{}, func()) {}, TimePassed, 0},
		"Woken":   {"A wake ends it early.", time.Minute, func(wake chan struct{}, _ func()) { SendWake(wake) }, Woken, time.Second},
		"Ended":   {"So does the end of the context.", time.Minute, func(_ chan struct{}, end func()) { end() }, Ended, time.Second},
		"Forever": {"Without an end of its own it waits as long as it takes.", NoEnd, func(wake chan struct{}, end func()) { time.Sleep(time.Hour); end() }, Ended, time.Hour + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancel(t.Context())
				defer end()
				wake, began := make(chan struct{}, 1), time.Now()
				var others sync.WaitGroup
				defer others.Wait()
				others.Go(func() {
					time.Sleep(time.Second)
					tc.do(wake, end)
				})
				if got := WaitFor(ctx, clock.RealClock{}, tc.wait, wake); got != tc.want || time.Since(began) != tc.after {
					t.Errorf("%s got %d after %s, want %d after %s", tc.reason, got, time.Since(began), tc.want, tc.after)
				}
			})
		})
	}
}

func TestSendWake(t *testing.T) {
	wake := make(chan struct{}, 1)
	SendWake(wake)
	SendWake(wake) // does not block
	if got := WaitFor(t.Context(), clock.RealClock{}, NoEnd, wake); got != Woken || len(wake) > 0 {
		t.Errorf("what was woken twice before it waits goes on once: got %d, %d more", got, len(wake))
	}
}
