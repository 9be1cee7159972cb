package policysource

import (
	"slices"
	"time"

	"github.com/go-logr/logr"

	"github.com/ambit-dev/ambit/pkg/internal/backoff"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policysource/registry"
)

// firstRetry is how long a decision that the controller has refused waits before it is offered again,
// doubled with each time to at most maxRetry.
const (
	firstRetry = time.Second
	maxRetry   = 30 * time.Second
)

// handover gives decisions to the controller. It belongs to one goroutine.
type handover struct {
	controller Controller
	logger     logr.Logger
	// programs and retire are what the controller has taken; programs is nil before the first time.
	programs, retire []*policy.Program
	refusal          refusal // of the last decision
}

// refusal is a decision that the controller has refused. The zero refusal: there is none.
type refusal struct {
	err              error
	programs, retire []*policy.Program // of the decision
	failures         int               // in a row
	next             time.Time         // it is not offered before
}

func (r refusal) isOf(d registry.Decision) bool {
	return r.err != nil && slices.Equal(r.programs, d.Programs) && slices.Equal(r.retire, d.Retire)
}

// applyDecision gives the controller a decision, if it differs from what the controller has taken. A decision that
// was refused is offered again after a while; another one at once.
func (h *handover) applyDecision(d registry.Decision, now time.Time) {
	if h.programs != nil && slices.Equal(h.programs, d.Programs) && slices.Equal(h.retire, d.Retire) {
		h.refusal = refusal{}
		return
	}
	if h.refusal.isOf(d) && now.Before(h.refusal.next) {
		return
	}
	if err := h.controller.Set(d.Programs, d.Retire); err != nil {
		h.noteRefusal(d, err, now)
		return
	}
	if h.refusal.err != nil {
		h.logger.Info("the engine takes the policies again")
	}
	h.refusal = refusal{}
	h.programs, h.retire = slices.Clip(append([]*policy.Program{}, d.Programs...)), d.Retire
}

// noteRefusal records that a decision was refused, and logs it once for each reason.
func (h *handover) noteRefusal(d registry.Decision, err error, now time.Time) {
	before := h.refusal
	h.refusal = refusal{err: err, programs: d.Programs, retire: d.Retire, failures: 1}
	if before.isOf(d) {
		h.refusal.failures = before.failures + 1
	}
	h.refusal.next = now.Add(backoff.Exponential{First: firstRetry, Last: maxRetry}.WaitAfter(h.refusal.failures))
	if before.err == nil || before.err.Error() != err.Error() {
		h.logger.Error(err, "the engine refuses the policies; what was run before goes on")
	}
}

// isRetiring reports whether the controller cleans up after a policy.
func (h *handover) isRetiring(id string) bool { return hasProgram(h.retire, id) }

func hasProgram(programs []*policy.Program, id string) bool {
	return slices.ContainsFunc(programs, func(p *policy.Program) bool { return registry.ProgramID(p) == id })
}
