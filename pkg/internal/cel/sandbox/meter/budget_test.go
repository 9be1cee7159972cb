package meter

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// run runs an evaluation of so many steps.
func run(ctx context.Context, steps int) error {
	var m Meter
	return m.RunMetered(ctx, func() error { m.ChargeSteps(steps); return nil })
}

// wantLimit checks that err is a LimitError with this text.
func wantLimit(t *testing.T, err error, text string) {
	t.Helper()
	if limit, ok := err.(LimitError); !ok || !strings.Contains(limit.Error(), text) {
		t.Errorf("gives %v, want a stop with %q", err, text)
	}
}

// TestBudgetOfTime: quick evaluations are charged by their steps. The one that uses up the
// budget fails, and so do all after it, before they begin.
func TestBudgetOfTime(t *testing.T) {
	ctx := WithBudget(t.Context(), NewBudget(time.Millisecond, 0))
	done := 0
	for done < 1000 && run(ctx, 1000) == nil {
		done++
	}
	if done != 19 { // of 50.25 µs each
		t.Errorf("1 ms is good for %d evaluations of 1000 steps", done)
	}
	var m Meter
	err := m.RunMetered(ctx, func() error { t.Error("an evaluation begins without time"); return nil })
	wantLimit(t, err, "stopped at the time limit of all expressions together: they take longer than 1ms")
	if err := run(t.Context(), 1000); err != nil {
		t.Errorf("without a budget: %v", err)
	}
}

// TestBudgetOfBytes: the whole of it may be taken, and not more.
func TestBudgetOfBytes(t *testing.T) {
	ctx := WithBudget(t.Context(), NewBudget(0, 3<<20))
	for range 3 {
		if err := SpendBytes(ctx, 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	wantLimit(t, SpendBytes(ctx, 1), "stopped at the size limit of all expressions together: their results are larger than 3 MiB")
	if err := run(ctx, 1); err != nil {
		t.Errorf("bytes are not time: %v", err)
	}
	if err := SpendBytes(t.Context(), 1<<40); err != nil {
		t.Errorf("without a budget: %v", err)
	}
}

// TestDefaultBudget: zero stands for the defaults.
func TestDefaultBudget(t *testing.T) {
	ctx := WithBudget(t.Context(), NewBudget(0, 0))
	if err := SpendBytes(ctx, DefaultBudgetBytes); err != nil {
		t.Error(err)
	}
	wantLimit(t, SpendBytes(ctx, 1), "larger than 128 MiB")
	b := budgetFrom(ctx)
	if err := b.spendTime(DefaultBudgetTime); err != nil {
		t.Error(err)
	}
	wantLimit(t, b.spendTime(1), "longer than 1s")
}

// TestSharedBudget is for the race detector, too: of many that spend at once, as many
// succeed as there is room for.
func TestSharedBudget(t *testing.T) {
	ctx := WithBudget(t.Context(), NewBudget(0, 100))
	var succeeded atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				if SpendBytes(ctx, 1) == nil {
					succeeded.Add(1)
				}
			}
		})
	}
	all.Wait()
	if succeeded.Load() != 100 {
		t.Errorf("%d succeed", succeeded.Load())
	}
}

// TestCountSteps: steps count where a budget was put into the context of CountSteps, also
// those of an evaluation that was stopped.
func TestCountSteps(t *testing.T) {
	var total atomic.Int64
	ctx := CountSteps(t.Context(), &total)
	if err := run(ctx, 10); err != nil || total.Load() != 0 {
		t.Errorf("without a budget: %d steps, %v", total.Load(), err)
	}
	ctx = WithBudget(ctx, NewBudget(0, 0))
	if err := run(ctx, 10); err != nil || total.Load() != 10 {
		t.Errorf("with a budget: %d steps, %v", total.Load(), err)
	}
	if err := run(ctx, CostLimit+1); err != errCost || total.Load() != 10+CostLimit+1 {
		t.Errorf("stopped: %d steps, %v", total.Load(), err)
	}
}
