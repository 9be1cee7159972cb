package meter

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// begun is a meter that is ready for charges.
func begun(ctx context.Context) *Meter {
	m := &Meter{}
	m.beginCharging(ctx)
	return m
}

// stopped runs f and returns the LimitError that it panics with.
func stopped(f func()) (limit LimitError) {
	defer func() { limit, _ = recover().(LimitError) }()
	f()
	return ""
}

func TestMeterLimits(t *testing.T) {
	cases := map[string]struct {
		reason string
		charge func(m *Meter)
		want   LimitError
	}{
		"Nothing":         {reason: "nothing is charged", charge: func(*Meter) {}},
		"AllSteps":        {reason: "the limit itself is allowed", charge: func(m *Meter) { m.ChargeSteps(CostLimit) }},
		"OneMore":         {reason: "one step more is not", charge: func(m *Meter) { m.ChargeSteps(CostLimit + 1) }, want: errCost},
		"NegativeSteps":   {reason: "a count that has overflowed", charge: func(m *Meter) { m.ChargeSteps(-1) }, want: errCost},
		"AllMemory":       {reason: "all memory is allowed", charge: func(m *Meter) { m.ChargeMemory(MemoryLimit) }},
		"OneByteMore":     {reason: "one byte more is not", charge: func(m *Meter) { m.ChargeMemory(MemoryLimit); m.ChargeMemory(1) }, want: errMemory},
		"NegativeBytes":   {reason: "a size that has overflowed", charge: func(m *Meter) { m.ChargeMemory(-1) }, want: errMemory},
		"ForAWhile":       {reason: "what is needed for a while is not added up", charge: func(m *Meter) { m.EnsureMemory(MemoryLimit); m.EnsureMemory(MemoryLimit) }},
		"BesideWhatIs":    {reason: "but needs room beside what is there", charge: func(m *Meter) { m.ChargeMemory(1); m.EnsureMemory(MemoryLimit) }, want: errMemory},
		"Refused":         {reason: "what is known to cost too much is not counted", charge: func(m *Meter) { m.StopForCost() }, want: errCost},
		"RefusedMemory":   {reason: "nor what is known to need too much", charge: func(m *Meter) { m.StopForMemory() }, want: errMemory},
		"NegativeBesides": {reason: "a need that has overflowed", charge: func(m *Meter) { m.EnsureMemory(math.MinInt) }, want: errMemory},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var m Meter
			err := m.RunMetered(t.Context(), func() error { tc.charge(&m); return nil })
			if got, _ := err.(LimitError); got != tc.want {
				t.Errorf("%s: stops with %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

// TestTimeLimit: slices of time are noticed at checks only, and the last one ends the
// evaluation.
func TestTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := begun(t.Context())
		defer m.stopTimer()
		m.ChargeSteps(checkInterval) // begins to measure
		for i := 1; i < timeSlices; i++ {
			time.Sleep(timeSlice)
			synctest.Wait()
			m.ChargeSteps(1) // checks nothing
			if m.usedSlices != i-1 {
				t.Errorf("%d slices before the check, want %d", m.usedSlices, i-1)
			}
			m.ChargeSteps(checkInterval)
			if m.usedSlices != i || m.timeUsed() != time.Duration(i)*timeSlice {
				t.Errorf("%d slices, %v, after %d", m.usedSlices, m.timeUsed(), i)
			}
		}
		time.Sleep(timeSlice)
		synctest.Wait()
		if got := stopped(func() { m.ChargeSteps(checkInterval) }); got != errTime {
			t.Errorf("the last slice of time is over: %q", got)
		}
	})
}

// TestLongPause: a pause of the whole process uses up one slice, however long it is.
func TestLongPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := begun(t.Context())
		defer m.stopTimer()
		m.ChargeSteps(checkInterval)
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := stopped(func() { m.ChargeSteps(checkInterval) }); got != "" || m.usedSlices != 1 {
			t.Errorf("stops with %q after %d slices", got, m.usedSlices)
		}
	})
}

// TestTimeUsed: quick evaluations are estimated by their steps.
func TestTimeUsed(t *testing.T) {
	m := begun(t.Context())
	defer m.stopTimer()
	if m.ChargeSteps(1000); m.timeUsed() != 50*time.Microsecond {
		t.Errorf("1000 steps take %v", m.timeUsed())
	}
}

// TestEndedContext: an ended context is noticed at the next check, with its cause.
func TestEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := begun(ctx)
	defer m.stopTimer()
	cancel()
	if got := stopped(func() { m.ChargeSteps(checkInterval - 1) }); got != "" {
		t.Errorf("stops before the check with %q", got)
	}
	if got := stopped(func() { m.ChargeSteps(1) }); got != "stopped: context canceled" {
		t.Errorf("stops with %q", got)
	}
}

// TestCheckTime: an ended context and a slice of time that is over are noticed at once.
func TestCheckTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		m := begun(ctx)
		defer m.stopTimer()
		for i := range timeSlices {
			if m.CheckTime(); m.usedSlices != i {
				t.Errorf("%d slices at the check after %d", m.usedSlices, i)
			}
			time.Sleep(timeSlice)
			synctest.Wait()
		}
		if got := stopped(m.CheckTime); got != errTime {
			t.Errorf("the last slice of time is over: %q", got)
		}
		cancel()
		if got := stopped(m.CheckTime); got != "stopped: context canceled" {
			t.Errorf("the context has ended: %q", got)
		}
	})
}

// TestRun: what RunMetered returns for each way in which an evaluation ends.
func TestRun(t *testing.T) {
	mistake := errors.New("a mistake")
	cases := map[string]struct {
		reason   string
		evaluate func(m *Meter) error
		want     string
	}{
		"Done":   {reason: "an evaluation that ends by itself has no error", evaluate: func(*Meter) error { return nil }},
		"Fails":  {reason: "its own error is returned as it is", evaluate: func(*Meter) error { return mistake }, want: "a mistake"},
		"Limit":  {reason: "a limit is an error", evaluate: func(m *Meter) error { m.ChargeSteps(CostLimit + 1); return nil }, want: errCost.Error()},
		"Panic":  {reason: "a panic is one, too", evaluate: func(*Meter) error { panic("a mistake") }, want: "internal error: a mistake"},
		"Nested": {reason: "the limit of an evaluation inside is one of this", evaluate: func(*Meter) error { begun(t.Context()).StopForMemory(); return nil }, want: errMemory.Error()},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var m Meter
			got := ""
			if err := m.RunMetered(t.Context(), func() error { return tc.evaluate(&m) }); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("%s: gives %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestUsed: what was charged is known afterwards, and what was only ensured is not in it.
func TestUsed(t *testing.T) {
	var m Meter
	err := m.RunMetered(t.Context(), func() error {
		m.ChargeSteps(3)
		m.ChargeSteps(4)
		m.ChargeMemory(100)
		m.EnsureMemory(1000)
		return nil
	})
	if steps, bytes := m.ChargedTotals(); steps != 7 || bytes != 100 || err != nil {
		t.Errorf("%d steps, %d bytes, %v", steps, bytes, err)
	}
}
