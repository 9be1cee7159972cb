package sandbox

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/meter"
)

// until evaluates under a budget until it fails, a number of times at most.
func until(ctx context.Context, p *Program, owner any, times int) (int, error) {
	for i := range times {
		if _, err := evaluate(ctx, p, owner); err != nil {
			return i, err
		}
	}
	return times, nil
}

func TestBudget(t *testing.T) {
	owner := map[string]any{"text": strings.Repeat("a", 1<<20)}
	text, loop := mustPlan(t, `owner.text`), mustPlan(t, `lists.range(1000).map(i, i * i).size()`)

	done, err := until(meter.WithBudget(t.Context(), meter.NewBudget(0, 10<<20)), text, owner, 100)
	if wantStopped(t, err, "results are larger than 10 MiB"); done < 8 || done > 10 {
		t.Errorf("a budget of 10 MiB is good for %d results of 1 MiB", done)
	}
	// In a bubble steps count alone: a pause of the process uses up nothing.
	synctest.Test(t, func(t *testing.T) {
		done, err = until(meter.WithBudget(t.Context(), meter.NewBudget(50*time.Millisecond, 0)), loop, owner, 10_000)
	})
	if wantStopped(t, err, "take longer than 50ms"); done < 2 {
		t.Errorf("a budget of 50 ms is good for %d loops", done)
	}
	if done, err = until(t.Context(), loop, owner, 1000); err != nil {
		t.Errorf("without a budget: %d, %v", done, err)
	}
	if _, err := until(meter.WithBudget(t.Context(), meter.NewBudget(0, 0)), text, owner, 100); err != nil {
		t.Errorf("the default is smaller than 100 results of 1 MiB: %v", err)
	}
}

// TestSpentBudget: an evaluation does not begin when no time is left, but for a cheap
// one, which spends none.
func TestSpentBudget(t *testing.T) {
	ctx := meter.WithBudget(t.Context(), meter.NewBudget(time.Nanosecond, 0))
	_, err := mustPlan(t, `[1].map(x, x)`).EvaluateWith(ctx, variables{})
	wantStopped(t, err, "take longer than 1ns")
	if _, err := mustPlan(t, `owner == 1`).EvaluateWith(ctx, variables{"owner": 1}); err != nil {
		t.Errorf("a cheap one: %v", err)
	}
}

// TestBudgetIsShared is for the race detector, too.
func TestBudgetIsShared(t *testing.T) {
	p := mustPlan(t, `owner`)
	owner := strings.Repeat("a", 1<<20)
	ctx := meter.WithBudget(t.Context(), meter.NewBudget(0, 20<<20))
	var all sync.WaitGroup
	counts := make([]int, 4)
	for i := range counts {
		all.Go(func() { counts[i], _ = until(ctx, p, owner, 20) })
	}
	all.Wait()
	if sum := counts[0] + counts[1] + counts[2] + counts[3]; sum < 18 || sum > 20 {
		t.Errorf("20 MiB are good for %d results of 1 MiB: %v", sum, counts)
	}
}

// TestCountSteps: the steps of all evaluations come together, also of one that was
// stopped; without a budget nobody counts.
func TestCountSteps(t *testing.T) {
	loop := mustPlan(t, `lists.range(1000).map(i, i * i).size()`)
	endless := mustPlan(t, `lists.range(3000).map(i, lists.range(3000).map(j, i * j)).size()`)
	var total atomic.Int64
	ctx := meter.CountSteps(t.Context(), &total)
	if _, err := evaluate(ctx, loop, nil); err != nil || total.Load() != 0 {
		t.Errorf("without a budget: %d steps, %v", total.Load(), err)
	}
	ctx = meter.WithBudget(ctx, meter.NewBudget(0, 0))
	if _, err := evaluate(ctx, loop, nil); err != nil || total.Load() < 1000 {
		t.Errorf("a loop of 1000 rounds: %d steps, %v", total.Load(), err)
	}
	once := total.Load()
	if _, err := evaluate(ctx, loop, nil); err != nil || total.Load() != 2*once {
		t.Errorf("the second time: %d steps after %d, %v", total.Load(), once, err)
	}
	if _, err := evaluate(ctx, endless, nil); err == nil || total.Load() < 2*once+10_000 {
		t.Errorf("an evaluation that is stopped: %d steps, %v", total.Load(), err)
	}
}
