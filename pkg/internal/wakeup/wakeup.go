// Package wakeup has a goroutine wait until there is something to do.
//
// Who waits owns a channel that holds one. However often it is woken in between, it looks once more, and a wake
// that comes while it looks is not lost.
package wakeup

import (
	"context"
	"time"

	"k8s.io/utils/clock"
)

// SendWake wakes who waits for a channel that holds one, or will do so. It never blocks.
func SendWake(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default: // one is enough
	}
}

// NoEnd is a wait that only a wake ends, or the end of its context.
const NoEnd time.Duration = -1

// Cause is why a wait is over.
type Cause int

// The causes. Of several at once it is any.
const (
	Ended      Cause = iota // the context has ended
	Woken                   // a wake was taken from the channel
	TimePassed              // the time of the wait has passed
)

// WaitFor waits until ctx ends, it is woken, or a time has passed; a time below 0 is NoEnd. Nobody wakes it if wake is nil.
func WaitFor(ctx context.Context, of clock.Clock, wait time.Duration, wake <-chan struct{}) Cause {
	var over <-chan time.Time
	if wait >= 0 {
		timer := of.NewTimer(wait)
		defer timer.Stop()
		over = timer.C()
	}
	select {
	case <-ctx.Done():
		return Ended
	case <-wake:
		return Woken
	case <-over:
		return TimePassed
	}
}
