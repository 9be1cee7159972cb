package informer

import (
	"testing"
	"time"
)

func TestPacer(t *testing.T) {
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
			p := &reopenSchedule{ceiling: 60}
			start := time.Unix(1000, 123)
			bySecond, last := map[int64]int{}, time.Duration(0)
			var planned []time.Time
			for range c.plans {
				at := p.planEnd(start)
				planned = append(planned, at)
				bySecond[at.Unix()]++
				last = max(last, at.Sub(start))
			}
			expect(t, c.reason, c.latest, last)
			for second, n := range bySecond {
				if n > 60 {
					t.Errorf("%d ends in second %d", n, second)
				}
			}
			for _, at := range planned {
				p.forgetEnd(at)
			}
			p.forgetEnd(time.Time{})
			expect(t, "left", 0, outstanding(p))
		})
	}
}

// outstanding returns how many ends are planned.
func outstanding(p *reopenSchedule) (sum int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.planned {
		sum += n
	}
	return sum
}
