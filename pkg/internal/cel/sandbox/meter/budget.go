package meter

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// Budget is what several evaluations may take together. It is safe for concurrent
// use. A nil Budget has no limits.
type Budget struct {
	timeLimit, bytesLimit int64
	time, bytes           atomic.Int64  // used: nanoseconds, bytes
	steps                 *atomic.Int64 // see CountSteps; nil: steps are not counted
}

// NewBudget makes a budget of time to evaluate and of bytes of results. Zero
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

// spendTime charges time. The error, a LimitError, says that none is left.
func (b *Budget) spendTime(d time.Duration) error {
	if b == nil || b.time.Add(int64(d)) <= b.timeLimit {
		return nil
	}
	return LimitError(fmt.Sprintf("stopped at the time limit of all expressions together: they take longer than %v", time.Duration(b.timeLimit)))
}

// spendBytes charges bytes of results. The error, a LimitError, says that none are left.
func (b *Budget) spendBytes(n int) error {
	if b == nil || b.bytes.Add(int64(n)) <= b.bytesLimit {
		return nil
	}
	return LimitError(fmt.Sprintf("stopped at the size limit of all expressions together: their results are larger than %d MiB", b.bytesLimit>>20))
}

// addSteps adds to the total of CountSteps.
func (b *Budget) addSteps(steps int) {
	if b != nil && b.steps != nil {
		b.steps.Add(int64(steps))
	}
}

type budgetKey struct{}

type stepsKey struct{}

// CountSteps returns a context in which the steps of all evaluations that share a
// budget are added to total. The budget has to be put into this context, or into one
// made of it, by WithBudget. Several goroutines may add at once.
func CountSteps(ctx context.Context, total *atomic.Int64) context.Context {
	return context.WithValue(ctx, stepsKey{}, total)
}

// WithBudget returns a context in which all evaluations share the budget. When it
// is used up, they fail with a LimitError. What runs without a meter spends none of its
// time.
func WithBudget(ctx context.Context, b *Budget) context.Context {
	b.steps, _ = ctx.Value(stepsKey{}).(*atomic.Int64)
	return context.WithValue(ctx, budgetKey{}, b)
}

// SpendBytes charges the budget of ctx for a result of so many bytes. The error, a
// LimitError, says that none are left.
func SpendBytes(ctx context.Context, bytes int) error { return budgetFrom(ctx).spendBytes(bytes) }

// budgetFrom returns the budget of a context, or nil.
func budgetFrom(ctx context.Context) *Budget {
	b, _ := ctx.Value(budgetKey{}).(*Budget)
	return b
}
