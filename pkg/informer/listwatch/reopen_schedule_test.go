package listwatch

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestReopenSchedule(t *testing.T) {
	cases := map[string]struct {
		reason string
		plans  int
		latest time.Duration
	}{
		"Few":     {"both seconds have room", 20, time.Second},
		"Full":    {"two seconds are just enough", 120, time.Second},
		"Stretch": {"600 take ten seconds", 600, 9 * time.Second},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := &reopenSchedule{ceiling: 60, jitter: func(most time.Duration) time.Duration { return rand.N(most + 1) }}
			start := time.Unix(1000, 123)
			bySecond, last := map[int64]int{}, time.Duration(0)
			var planned []time.Time
			for range c.plans {
				at := p.planEnd(start)
				planned = append(planned, at)
				bySecond[at.Unix()]++
				last = max(last, at.Sub(start))
			}
			if last != c.latest {
				t.Errorf("%s: the last ends after %v, want %v", c.reason, last, c.latest)
			}
			for second, n := range bySecond {
				if n > 60 {
					t.Errorf("%d ends in second %d", n, second)
				}
			}
			for _, at := range planned {
				p.forgetEnd(at)
			}
			p.forgetEnd(time.Time{})
			if left := p.plannedEnds(); left != 0 {
				t.Errorf("%d ends are left", left)
			}
		})
	}
}
