package cel

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// CostLimit bounds one evaluation in steps: about the number of parts of an
	// expression that are evaluated, and of values that functions look at. So many
	// take less than half of TimeLimit on a slow machine.
	CostLimit = 1_000_000
	// TimeLimit bounds one evaluation. It is looked at every few thousand steps, so
	// that what is quick can never fail by it, however busy the machine is.
	TimeLimit = 100 * time.Millisecond
	// MemoryLimit bounds what one evaluation may make, in bytes. The heap may grow by
	// twice as much, for values that are not collected at once.
	MemoryLimit = 32 << 20
	// MaxResultBytes bounds the result of one expression, counted as it is
	// converted: 1.5 MiB, the size of the largest request that etcd takes.
	MaxResultBytes = 3 << 19

	// DefaultBudgetTime and DefaultBudgetBytes are what all evaluations over one
	// plan may take together, see NewBudget.
	DefaultBudgetTime  = time.Second
	DefaultBudgetBytes = 128 << 20
)

// stop is why an evaluation ended at a limit.
type stop string

// Error implements error.
func (s stop) Error() string { return string(s) }

const (
	errCost     stop = "stopped at the cost limit: it takes more than 1000000 steps"
	errTime     stop = "stopped at the time limit: it takes longer than 100ms"
	errMemory   stop = "stopped at the memory limit: it needs more than 64 MiB"
	errTooLarge stop = "stopped at the size limit: the result is larger than 1.5 MiB"
)

// Budget is what several evaluations share. It is safe for concurrent use.
type Budget struct {
	timeLimit, bytesLimit int64
	time, bytes           atomic.Int64  // used: nanoseconds, bytes
	steps                 *atomic.Int64 // see CountSteps; nil: nobody counts
}

// NewBudget makes a budget of time to evaluate and of bytes of results; zero
// stands for DefaultBudgetTime and DefaultBudgetBytes. The time of quick
// evaluations is estimated by their steps.
func NewBudget(limit time.Duration, bytes int) *Budget {
	if limit == 0 {
		limit = DefaultBudgetTime
	}
	if bytes == 0 {
		bytes = DefaultBudgetBytes
	}
	return &Budget{timeLimit: int64(limit), bytesLimit: int64(bytes)}
}

// spendTime notes time, and says by an error that there is none left. nil is a
// budget without limits.
func (b *Budget) spendTime(d time.Duration) error {
	if b == nil || b.time.Add(int64(d)) <= b.timeLimit {
		return nil
	}
	return stop(fmt.Sprintf("stopped at the time limit of all expressions together: they take longer than %v", time.Duration(b.timeLimit)))
}

// spendBytes notes bytes of results. nil is a budget without limits.
func (b *Budget) spendBytes(n int) error {
	if b == nil || b.bytes.Add(int64(n)) <= b.bytesLimit {
		return nil
	}
	return stop(fmt.Sprintf("stopped at the size limit of all expressions together: their results are larger than %d MiB", b.bytesLimit>>20))
}

// count notes steps. nil counts nothing.
func (b *Budget) count(steps int) {
	if b != nil && b.steps != nil {
		b.steps.Add(int64(steps))
	}
}

type budgetKey struct{}

type stepsKey struct{}

// CountSteps returns a context under which the steps of all evaluations that share a
// budget are added to total, which is for more than one goroutine. A budget counts if
// it is put into the context, or one made of it.
func CountSteps(ctx context.Context, total *atomic.Int64) context.Context {
	return context.WithValue(ctx, stepsKey{}, total)
}

// WithBudget returns a context under which all evaluations share the budget;
// those after it is used up fail with EvalError.Budget. Expressions that read and
// compare only, and give a bool, a string or a duration, are not counted.
func WithBudget(ctx context.Context, b *Budget) context.Context {
	b.steps, _ = ctx.Value(stepsKey{}).(*atomic.Int64)
	return context.WithValue(ctx, budgetKey{}, b)
}

// budgetOf returns the budget of a context, or nil.
func budgetOf(ctx context.Context) *Budget {
	b, _ := ctx.Value(budgetKey{}).(*Budget)
	return b
}
