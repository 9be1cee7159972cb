package backoff

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "github.com/ambit-dev/ambit/test/draws"
)

func TestAfter(t *testing.T) {
	quarterLess := func(wait time.Duration) time.Duration { return wait - wait/4 }
	cases := map[string]struct {
		reason   string
		backoff  Exponential
		failures int
		want     time.Duration
	}{
		"First":    {reason: "the first failure", backoff: Exponential{First: time.Second, Last: time.Minute}, failures: 1, want: time.Second},
		"None":     {reason: "no failure counts as one", backoff: Exponential{First: time.Second, Last: time.Minute}, failures: 0, want: time.Second},
		"Third":    {reason: "each failure doubles", backoff: Exponential{First: time.Second, Last: time.Minute}, failures: 3, want: 4 * time.Second},
		"Last":     {reason: "at most the last, which need not be a double", backoff: Exponential{First: time.Second, Last: 30 * time.Second}, failures: 6, want: 30 * time.Second},
		"Constant": {reason: "first and last may be the same", backoff: Exponential{First: time.Second, Last: time.Second}, failures: 5, want: time.Second},
		"Many":     {reason: "any number of failures is over at once", backoff: Exponential{First: 1, Last: time.Minute}, failures: math.MaxInt, want: time.Minute},
		"Jitter":   {reason: "jitter is given the wait", backoff: Exponential{First: time.Second, Last: time.Minute, Jitter: quarterLess}, failures: 2, want: 1500 * time.Millisecond},
		"OverLast": {reason: "jitter may go over the last", backoff: Exponential{First: time.Second, Last: time.Second, Jitter: func(wait time.Duration) time.Duration { return 2 * wait }}, failures: 9, want: 2 * time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.backoff.WaitAfter(tc.failures); got != tc.want {
				t.Errorf("%s: %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

// TestAfterGrows: a wait is never shorter than the one before, and within its bounds.
func TestAfterGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "first"))
		last := first + time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "more"))
		b := Exponential{First: first, Last: last}
		failures := rapid.IntRange(1, 100).Draw(t, "failures")
		wait, next := b.WaitAfter(failures), b.WaitAfter(failures+1)
		if wait < first || wait > last || next < wait || next > 2*wait {
			t.Fatalf("%v, then %v, between %v and %v", wait, next, first, last)
		}
	})
}
