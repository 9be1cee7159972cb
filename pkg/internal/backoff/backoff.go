// Package backoff says how long to wait after failures in a row. It reads no clock and
// draws nothing: who waits gives the jitter.
package backoff

import "time"

// Exponential is a wait that doubles with each failure. It is immutable and safe for
// concurrent use if Jitter is.
type Exponential struct {
	// First is the wait after the first failure, and Last the longest. First must be
	// positive, and Last not less.
	First, Last time.Duration
	// Jitter returns what to wait in place of a wait, so that those who failed together
	// do not come back together. It is given at most Last, and may return more. Nil
	// leaves waits as they are.
	Jitter func(wait time.Duration) time.Duration
}

// WaitAfter returns how long to wait after so many failures in a row, from 1. Less than 1
// counts as 1.
func (e Exponential) WaitAfter(failures int) time.Duration {
	wait := e.First
	for i := 1; i < failures && wait < e.Last; i++ {
		wait = min(2*wait, e.Last)
	}
	if e.Jitter == nil {
		return wait
	}
	return e.Jitter(wait)
}
