package policysource

import (
	"slices"
	"time"

	"github.com/ambit-dev/ambit/pkg/internal/backoff"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// firstRefused is how long what the engine has refused waits before it is given to it
// again, doubled with each time to at most mostRefused.
const (
	firstRefused = time.Second
	mostRefused  = 30 * time.Second
)

// refusal is a decision that the engine has refused. The zero refusal: there is none.
type refusal struct {
	err              error
	programs, retire []*policy.Program // of the decision
	failures         int               // in a row
	next             time.Time         // it is not given to the engine before
}

// holds says whether a decision is to wait.
func (r refusal) holds(d decision, now time.Time) bool {
	return r.isOf(d) && now.Before(r.next)
}

func (r refusal) isOf(d decision) bool {
	return r.err != nil && slices.Equal(r.programs, d.programs) && slices.Equal(r.retire, d.retire)
}

// apply gives the engine a decision, if it is another one than before. One that it refuses
// is given to it again after a while; another one at once.
func (s *Source) apply(d decision, now time.Time) {
	if s.programs != nil && slices.Equal(s.programs, d.programs) && slices.Equal(s.retire, d.retire) {
		s.refusal = refusal{}
		return
	}
	if s.refusal.holds(d, now) {
		return
	}
	if err := s.o.Controller.Set(d.programs, d.retire); err != nil {
		s.noteRefusal(d, err, now)
		return
	}
	if s.refusal.err != nil {
		s.o.Logger.Info("the engine takes the policies again")
	}
	s.refusal = refusal{}
	s.programs, s.retire = slices.Clip(append([]*policy.Program{}, d.programs...)), d.retire
}

// noteRefusal keeps that the engine has refused a decision, and logs it once for each reason.
func (s *Source) noteRefusal(d decision, err error, now time.Time) {
	before := s.refusal
	s.refusal = refusal{err: err, programs: d.programs, retire: d.retire, failures: 1}
	if before.isOf(d) {
		s.refusal.failures = before.failures + 1
	}
	s.refusal.next = now.Add(backoff.Exponential{First: firstRefused, Last: mostRefused}.After(s.refusal.failures))
	if before.err == nil || before.err.Error() != err.Error() {
		s.o.Logger.Error(err, "the engine refuses the policies; what was run before goes on")
	}
}
