package sandbox

import (
	"context"
	"time"

	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
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

// meter counts what one evaluation costs, and ends it at a limit by a panic with
// a LimitError. It belongs to one evaluation, and to its goroutine.
//
// It is the innermost binding of every evaluation, under a name that no expression
// can write: so the nodes of a plan, which many evaluations share, find it.
type meter struct {
	interpreter.Activation                    // the variables of the expression
	ctx                    context.Context    // ends the evaluation
	steps                  int                // taken
	nextCheck              int                // the number of steps at which the next check is due
	memory                 int                // allocated, in bytes
	timer                  context.Context    // ends with the slice of time; nil before the first check
	cancel                 context.CancelFunc // of the timer
	usedSlices             int                // of time
	heldArguments          []ref.Val          // of a call that is being made, see heldArgument
}

var _ interpreter.Activation = (*meter)(nil)

// newMeter makes the meter of one evaluation. Call stopTimer after it.
func newMeter(ctx context.Context, variables interpreter.Activation) *meter {
	return &meter{Activation: variables, ctx: ctx, nextCheck: checkInterval}
}

// meterName is the name that the meter is bound to.
const meterName = "@meter"

// ResolveName implements interpreter.Activation.
func (m *meter) ResolveName(name string) (any, bool) {
	if name == meterName {
		return m, true
	}
	return m.Activation.ResolveName(name)
}

// meterOf returns the meter of the evaluation that a node is run in.
func meterOf(frame *interpreter.ExecutionFrame) *meter {
	found, _ := frame.ResolveName(meterName)
	return found.(*meter)
}

// chargeSteps counts n steps.
func (m *meter) chargeSteps(n int) {
	m.steps += n
	if m.steps >= m.nextCheck || n < 0 {
		m.checkLimits()
	}
}

// checkLimits ends the evaluation if its steps or its time are used up, or its
// context has ended. A negative count is one that has overflowed.
func (m *meter) checkLimits() {
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
func (m *meter) stopTimer() {
	if m.cancel != nil {
		m.cancel()
	}
}

// chargeMemory counts bytes that are taken until the evaluation ends.
func (m *meter) chargeMemory(bytes int) {
	m.ensureMemory(bytes)
	m.memory += bytes
}

// ensureMemory ends the evaluation if there is no room for so many more bytes, which
// are needed for a while. It counts nothing.
func (m *meter) ensureMemory(bytes int) {
	if bytes < 0 || bytes > MemoryLimit-m.memory {
		panic(errMemory)
	}
}

// chargeResult counts the memory of what a function gave.
func (m *meter) chargeResult(result ref.Val) ref.Val {
	switch result.(type) {
	case traits.MutableLister, traits.MutableMapper: // counted as they grow
	default:
		m.chargeMemory(shallowSize(result))
	}
	return result
}

// timeUsed is how long the evaluation took, estimated by its steps, or measured where
// that is longer.
func (m *meter) timeUsed() time.Duration {
	return max(time.Duration(m.usedSlices)*timeSlice, time.Duration(m.steps)*stepTime)
}
