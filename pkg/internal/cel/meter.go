package cel

import (
	"context"
	"time"

	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

const (
	// lookEvery is after how many steps the time and the context are looked at.
	lookEvery = 8192
	// timeSlice is the time that is measured at once. A pause of the whole process,
	// which is no time of the evaluation, uses up one at most. There is room for what
	// is done before the first look and after the last.
	timeSlice  = TimeLimit / 5
	timeSlices = 4
	// stepTime is what a step is taken to cost.
	stepTime = 50 * time.Nanosecond
)

// meter counts what one evaluation costs, and ends it at a limit by a panic with
// a stop. It belongs to one evaluation.
//
// It is the innermost binding of every evaluation, under a name that no expression
// can write: so the nodes of a plan, which many evaluations share, find it.
type meter struct {
	Activation
	ctx    context.Context
	steps  int                // taken
	look   int                // at how many steps the next look is due
	memory int                // made, in bytes
	timer  context.Context    // ends with the slice of time; nil before the first look
	cancel context.CancelFunc // of the timer
	used   int                // slices
	held   []ref.Val          // the arguments of a call that is just now made, see heldArg
}

var _ interpreter.Activation = (*meter)(nil)

const meterName = "@meter"

// ResolveName implements interpreter.Activation.
func (m *meter) ResolveName(name string) (any, bool) {
	if name == meterName {
		return m, true
	}
	return m.Activation.ResolveName(name)
}

func meterOf(frame *interpreter.ExecutionFrame) *meter {
	found, _ := frame.ResolveName(meterName)
	return found.(*meter)
}

// step counts n steps.
func (m *meter) step(n int) {
	m.steps += n
	if m.steps >= m.look || n < 0 {
		m.check()
	}
}

func (m *meter) check() {
	if m.steps > CostLimit || m.steps < 0 {
		panic(errCost)
	}
	m.look = m.steps + lookEvery
	if m.ctx.Err() != nil {
		panic(stop("stopped: " + context.Cause(m.ctx).Error()))
	}
	if m.timer != nil && m.timer.Err() == nil {
		return
	}
	if m.timer != nil {
		m.used++
	}
	if m.used >= timeSlices {
		panic(errTime)
	}
	m.close()
	m.timer, m.cancel = context.WithTimeout(m.ctx, timeSlice)
}

// close lets go of what measures time.
func (m *meter) close() {
	if m.cancel != nil {
		m.cancel()
	}
}

// make counts bytes that are there until the evaluation ends.
func (m *meter) make(bytes int) {
	m.need(bytes)
	m.memory += bytes
}

// need says that so many bytes are needed for a while.
func (m *meter) need(bytes int) {
	if bytes < 0 || bytes > MemoryLimit-m.memory {
		panic(errMemory)
	}
}

// time is how long the evaluation took, estimated by its steps, or measured where
// that is longer.
func (m *meter) time() time.Duration {
	return max(time.Duration(m.used)*timeSlice, time.Duration(m.steps)*stepTime)
}
