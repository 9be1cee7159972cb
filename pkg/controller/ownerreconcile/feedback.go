package ownerreconcile

import (
	"github.com/ambit-dev/ambit/pkg/controller/writeconflict"
	"github.com/ambit-dev/ambit/pkg/internal/status"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// unstablePlan returns the plan to write in place of one whose status does not come to rest; nil if
// it may be written. Who changes the owner's spec has acted, so that all begins anew. Whatever
// else happens to the owner does not, as long as the same would be written; if it is something
// else, the backoff of contested statuses decides when it is tried.
func (p *Reconciler) unstablePlan(planned *plan.Plan, old, next map[string]any) *plan.Plan {
	reads := p.Program.Owner.StatusRead
	if reads == nil || planned.Partial || planned.Conditions == nil {
		return nil
	}
	f := &p.state.feedback
	before, after := p.statusRead(old), p.statusRead(next)
	if status.Equal(before, after) {
		f.ResetWrites()
		return nil
	}
	if !f.IsUsedUp(p.owner.GetGeneration()) {
		return nil
	}
	unstable := writeconflict.UnstableWrite{Before: before, After: after, Text: digestOf(statusText(after))}
	problem, again := f.HoldBack(unstable, p.Backoff, p.Now())
	p.requeueAt(again)
	if problem == nil {
		return nil
	}
	stalled := planned.Stalled(problem.Reason, problem.Message)
	stalled.Blockers = []plan.Problem{*problem}
	p.lastPlan = stalled
	return stalled
}

// noteFeedback has the owner planned again if a write of its status has changed what the policy
// reads of it. The write itself wakes nobody.
func (p *Reconciler) noteFeedback(old, written map[string]any) {
	if p.Program.Owner.StatusRead == nil || status.Equal(p.statusRead(old), p.statusRead(written)) {
		return
	}
	p.state.feedback.RecordWrite(p.owner.GetGeneration())
	p.requeueAt(p.Now())
}

// statusRead is what the policy reads of a status, without the times of conditions.
func (p *Reconciler) statusRead(of map[string]any) map[string]any {
	return p.Program.Owner.StatusRead.Project(status.WithoutTimes(of))
}

// unstableLogged is what the log says of it: a status may be for fewer eyes than the log.
const unstableLogged = "the policy reads the status that it writes, and that does not come to rest: the owner's condition Stalled names the values"
