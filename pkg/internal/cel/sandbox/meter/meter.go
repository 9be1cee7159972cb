// Package meter counts what evaluations of expressions cost, and ends them at limits.
//
// A Meter belongs to one evaluation. Meter.RunMetered runs the evaluation, which charges the
// meter for its steps and its memory as it goes. Whoever charges too much does not get
// control back: the charge ends the evaluation, and RunMetered returns a LimitError. A Budget
// belongs to many evaluations, and is found by their context.
//
// # What ends an evaluation
//
//   - More than CostLimit steps, or more than MemoryLimit bytes.
//   - More time than TimeLimit, or the end of its context. Both are checked every few
//     thousand steps, and by CheckTime; nothing else reads a clock: a quick evaluation never
//     fails because the machine is busy.
//   - A panic, of whatever runs in it. RunMetered returns it as an error.
//
// An evaluation whose budget is used up does not begin, and what it gave is not
// returned if it uses up the budget itself. So a budget is exceeded by one evaluation at
// most for each goroutine.
//
// # What it refuses to know
//
// The package knows neither CEL nor its values. What an operation costs is said by
// whoever charges: package charge, and the nodes of package sandbox. It does not see
// what is not charged, and a charge that is made after the fact comes too late: memory is
// to be charged, or ensured, before it is allocated.
package meter

import (
	"context"
	"fmt"
	"time"
)

const (
	// checkInterval is after how many steps the time and the context are checked.
	checkInterval = 8192
	// timeSlice is the time that is measured at once. A pause of the whole process,
	// which is no time of the evaluation, uses up one at most. There is room for what
	// is done before the first check and after the last.
	timeSlice  = TimeLimit / 5
	timeSlices = 4
	// stepTime is what a step is taken to cost.
	stepTime = 50 * time.Nanosecond
)

// minimumTime is what an evaluation spends of a budget's time beside its steps.
const minimumTime = time.Microsecond / 4

// Meter counts what one evaluation costs, and ends it at a limit. The zero Meter is
// ready, for one RunMetered. It belongs to the goroutine of the evaluation; all methods but RunMetered
// and ChargedTotals may be called only inside of RunMetered.
type Meter struct {
	ctx        context.Context    // ends the evaluation
	steps      int                // taken
	nextCheck  int                // the number of steps at which the next check is due
	memory     int                // allocated, in bytes
	timer      context.Context    // ends with the slice of time; nil before the first check
	cancel     context.CancelFunc // of the timer
	usedSlices int                // of time
}

// RunMetered runs an evaluation, once, and returns its error: a LimitError if it was stopped at
// a limit, or because ctx has ended; and one that begins with "internal error" if it
// panicked. With an error, what the evaluation gave is not to be used. The budget
// of ctx is charged for the time and the steps.
func (m *Meter) RunMetered(ctx context.Context, evaluate func() error) error {
	budget := budgetFrom(ctx)
	if err := budget.spendTime(minimumTime); err != nil {
		return err
	}
	m.beginCharging(ctx)
	defer m.stopTimer()
	failed := untilPanic(evaluate)
	budget.addSteps(m.steps)
	if err := budget.spendTime(m.timeUsed()); err != nil {
		return err
	}
	return failed
}

// beginCharging makes the meter ready for charges. Call stopTimer after it.
func (m *Meter) beginCharging(ctx context.Context) { m.ctx, m.nextCheck = ctx, checkInterval }

// untilPanic calls evaluate. Panics are errors: those of a meter, and what the evaluation
// fails to handle.
func untilPanic(evaluate func() error) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case LimitError:
			err = r
		default:
			err = fmt.Errorf("internal error: %v", r)
		}
	}()
	return evaluate()
}

// ChargedTotals returns what has been charged: steps, and bytes of memory.
func (m *Meter) ChargedTotals() (steps, bytes int) { return m.steps, m.memory }

// ChargeSteps counts n steps.
func (m *Meter) ChargeSteps(n int) {
	m.steps += n
	if m.steps >= m.nextCheck || n < 0 {
		m.checkLimits()
	}
}

// CheckTime ends the evaluation if its time is used up, or its context has ended: for what may have taken
// longer than its steps say.
func (m *Meter) CheckTime() { m.checkLimits() }

// checkLimits ends the evaluation if its steps or its time are used up, or its
// context has ended. A negative count is one that has overflowed.
func (m *Meter) checkLimits() {
	if m.steps > CostLimit || m.steps < 0 {
		panic(errCost)
	}
	m.nextCheck = m.steps + checkInterval
	if m.ctx.Err() != nil {
		panic(LimitError("stopped: " + context.Cause(m.ctx).Error()))
	}
	if m.timer != nil && m.timer.Err() == nil {
		return
	}
	if m.timer != nil {
		m.usedSlices++
	}
	if m.usedSlices >= timeSlices {
		panic(errTime)
	}
	m.stopTimer()
	m.timer, m.cancel = context.WithTimeout(m.ctx, timeSlice)
}

// stopTimer frees what measures time.
func (m *Meter) stopTimer() {
	if m.cancel != nil {
		m.cancel()
	}
}

// ChargeMemory counts bytes that are taken until the evaluation ends.
func (m *Meter) ChargeMemory(bytes int) {
	m.EnsureMemory(bytes)
	m.memory += bytes
}

// EnsureMemory ends the evaluation if there is no room for so many more bytes, which
// are needed for a while. It counts nothing.
func (m *Meter) EnsureMemory(bytes int) {
	if bytes < 0 || bytes > MemoryLimit-m.memory {
		panic(errMemory)
	}
}

// StopForCost ends the evaluation as one that takes more than CostLimit steps: for what
// is known to, without counting.
func (m *Meter) StopForCost() { panic(errCost) }

// StopForMemory ends the evaluation as one that needs more than MemoryLimit.
func (m *Meter) StopForMemory() { panic(errMemory) }

// timeUsed is how long the evaluation took, estimated by its steps, or measured where
// that is longer.
func (m *Meter) timeUsed() time.Duration {
	return max(time.Duration(m.usedSlices)*timeSlice, time.Duration(m.steps)*stepTime)
}

const (
	// CostLimit bounds one evaluation in steps. A step is about one part of an
	// expression that is evaluated, or one value that a function looks at. So many
	// steps take less than half of TimeLimit on a slow machine.
	CostLimit = 1_000_000
	// TimeLimit bounds one evaluation. It is checked every few thousand steps, so that
	// a quick evaluation can never fail by it, however busy the machine is.
	TimeLimit = 100 * time.Millisecond
	// MemoryLimit bounds what one evaluation may allocate, in bytes. The heap may grow
	// by twice as much, for values that are not collected at once.
	MemoryLimit = 32 << 20
	// MaxResultBytes bounds the result of one expression, counted as it is
	// converted: 1.5 MiB, the size of the largest request that etcd takes.
	MaxResultBytes = 3 << 19

	// DefaultBudgetTime and DefaultBudgetBytes are what all evaluations over one
	// plan may take together, see NewBudget.
	DefaultBudgetTime  = time.Second
	DefaultBudgetBytes = 128 << 20
)

// LimitError says at which limit an evaluation was stopped. Its text is for users.
type LimitError string

// Error implements error.
func (e LimitError) Error() string { return string(e) }

const (
	errCost   LimitError = "stopped at the cost limit: it takes more than 1000000 steps"
	errTime   LimitError = "stopped at the time limit: it takes longer than 100ms"
	errMemory LimitError = "stopped at the memory limit: it needs more than 64 MiB"
	// ErrResultTooLarge is for a result of more than MaxResultBytes.
	ErrResultTooLarge LimitError = "stopped at the size limit: the result is larger than 1.5 MiB"
)
