package faultplan

import (
	"testing"
	"testing/synctest"
)

// newBubbles returns a function that runs another one in a bubble of testing/synctest of its
// own, to its end. It may be called in a bubble, in which no time passes meanwhile: what an
// undisturbed Ambit makes of the inputs of a plan takes time, and is not found out again for
// inputs that are known. newBubbles and end must be called outside of all bubbles.
func newBubbles(t *testing.T) (apart func(func()), end func()) {
	work, done := make(chan func()), make(chan any)
	go func() {
		for f := range work {
			done <- inBubble(t, f)
		}
	}()
	apart = func(f func()) {
		work <- f
		if reason := <-done; reason != nil {
			panic(reason)
		}
	}
	return apart, func() { close(work) }
}

// inBubble returns what it panicked with, nil if it did not.
func inBubble(t *testing.T, f func()) (reason any) {
	defer func() { reason = recover() }()
	synctest.Test(t, func(*testing.T) { f() })
	return nil
}
