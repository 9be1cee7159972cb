package listwatch

import (
	"testing"
	"time"
)

func TestAttemptBackoff(t *testing.T) {
	type attempt struct {
		next, delay time.Duration
		waits       bool
	}
	cases := map[string]struct {
		reason string
		before func(*attemptBackoff)
		want   []attempt
	}{
		"NoFailure": {"nothing to wait for", func(*attemptBackoff) {}, []attempt{{0, 0, false}}},
		"Failures": {
			"each attempt waits, by the failures in a row",
			func(b *attemptBackoff) { b.addFailure(false); b.addFailure(false) },
			[]attempt{{2 * time.Second, 2 * time.Second, true}, {2 * time.Second, 2 * time.Second, true}},
		},
		"FirstIsFree": {
			"the next attempt need not wait, the one after it does",
			func(b *attemptBackoff) { b.addFailure(true) },
			[]attempt{{0, time.Second, false}, {time.Second, time.Second, true}},
		},
		"SecondIsNot": {
			"only the first failure is free",
			func(b *attemptBackoff) { b.addFailure(true); b.addFailure(true) },
			[]attempt{{2 * time.Second, 2 * time.Second, true}},
		},
		"Forgotten": {
			"it went well for long enough",
			func(b *attemptBackoff) { b.addFailure(false); b.forgetFailures() },
			[]attempt{{0, time.Second, false}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := &attemptBackoff{after: func(failures int) time.Duration { return time.Duration(failures) * time.Second }}
			c.before(b)
			for i, want := range c.want {
				got := attempt{next: b.nextDelay()}
				if got.delay, got.waits = b.beginAttempt(); got != want {
					t.Errorf("%s: attempt %d is %+v, want %+v", c.reason, i, got, want)
				}
			}
		})
	}
}

// TestLateDelay: a failure that was followed by another one, or forgotten, while its wait was
// worked out does not decide.
func TestLateDelay(t *testing.T) {
	var b *attemptBackoff
	b = &attemptBackoff{after: func(failures int) time.Duration {
		if failures == 1 {
			b.addFailure(false)
		}
		return time.Duration(failures) * time.Second
	}}
	b.addFailure(false)
	if got := b.nextDelay(); got != 2*time.Second {
		t.Errorf("the next attempt waits %v, want that of the second failure", got)
	}
}
