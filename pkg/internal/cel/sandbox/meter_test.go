package sandbox

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// stopped runs f and returns the LimitError that it panics with.
func stopped(f func()) (limit LimitError) {
	defer func() { limit, _ = recover().(LimitError) }()
	f()
	return ""
}

func TestMeterLimits(t *testing.T) {
	cases := map[string]struct {
		reason string
		charge func(m *meter)
		want   LimitError
	}{
		"Nothing":         {reason: "nothing is charged", charge: func(*meter) {}},
		"AllSteps":        {reason: "the limit itself is allowed", charge: func(m *meter) { m.chargeSteps(CostLimit) }},
		"OneMore":         {reason: "one step more is not", charge: func(m *meter) { m.chargeSteps(CostLimit + 1) }, want: errCost},
		"NegativeSteps":   {reason: "a count that has overflowed", charge: func(m *meter) { m.chargeSteps(-1) }, want: errCost},
		"AllMemory":       {reason: "all memory is allowed", charge: func(m *meter) { m.chargeMemory(MemoryLimit) }},
		"OneByteMore":     {reason: "one byte more is not", charge: func(m *meter) { m.chargeMemory(MemoryLimit); m.chargeMemory(1) }, want: errMemory},
		"NegativeBytes":   {reason: "a size that has overflowed", charge: func(m *meter) { m.chargeMemory(-1) }, want: errMemory},
		"ForAWhile":       {reason: "what is needed for a while is not added up", charge: func(m *meter) { m.ensureMemory(MemoryLimit); m.ensureMemory(MemoryLimit) }},
		"BesideWhatIs":    {reason: "but needs room beside what is there", charge: func(m *meter) { m.chargeMemory(1); m.ensureMemory(MemoryLimit) }, want: errMemory},
		"NegativeBesides": {reason: "a need that has overflowed", charge: func(m *meter) { m.ensureMemory(math.MinInt) }, want: errMemory},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := newMeter(t.Context(), variables{})
			defer m.stopTimer()
			if got := stopped(func() { tc.charge(m) }); got != tc.want {
				t.Errorf("%s: stops with %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestTimeLimit: slices of time are noticed at checks only, and the last one ends the
// evaluation.
func TestTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMeter(t.Context(), variables{})
		defer m.stopTimer()
		m.chargeSteps(checkInterval) // begins to measure
		for i := 1; i < timeSlices; i++ {
			time.Sleep(timeSlice)
			synctest.Wait()
			m.chargeSteps(1) // checks nothing
			if m.usedSlices != i-1 {
				t.Errorf("%d slices before the check, want %d", m.usedSlices, i-1)
			}
			m.chargeSteps(checkInterval)
			if m.usedSlices != i || m.timeUsed() != time.Duration(i)*timeSlice {
				t.Errorf("%d slices, %v, after %d", m.usedSlices, m.timeUsed(), i)
			}
		}
		time.Sleep(timeSlice)
		synctest.Wait()
		if got := stopped(func() { m.chargeSteps(checkInterval) }); got != errTime {
			t.Errorf("the last slice of time is over: %q", got)
		}
	})
}

// TestLongPause: a pause of the whole process uses up one slice, however long it is.
func TestLongPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMeter(t.Context(), variables{})
		defer m.stopTimer()
		m.chargeSteps(checkInterval)
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := stopped(func() { m.chargeSteps(checkInterval) }); got != "" || m.usedSlices != 1 {
			t.Errorf("stops with %q after %d slices", got, m.usedSlices)
		}
	})
}

// TestTimeUsed: quick evaluations are estimated by their steps.
func TestTimeUsed(t *testing.T) {
	m := newMeter(t.Context(), variables{})
	defer m.stopTimer()
	if m.chargeSteps(1000); m.timeUsed() != 50*time.Microsecond {
		t.Errorf("1000 steps take %v", m.timeUsed())
	}
}

// TestEndedContext: an ended context is noticed at the next check, with its cause.
func TestEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := newMeter(ctx, variables{})
	defer m.stopTimer()
	cancel()
	if got := stopped(func() { m.chargeSteps(checkInterval - 1) }); got != "" {
		t.Errorf("stops before the check with %q", got)
	}
	if got := stopped(func() { m.chargeSteps(1) }); got != "stopped: context canceled" {
		t.Errorf("stops with %q", got)
	}
}
