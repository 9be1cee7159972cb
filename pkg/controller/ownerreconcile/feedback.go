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
func (w statusWriter) unstablePlan(planned *plan.Plan, old, next map[string]any) *plan.Plan {
	reads := w.Program.Owner.StatusRead
	if reads == nil || planned.Partial || planned.Conditions == nil {
		return nil
	}
	f := w.state.feedback
	before, after := w.statusRead(old), w.statusRead(next)
	if status.Equal(before, after) {
		w.resetFeedback()
		return nil
	}
	if f == nil || !f.IsUsedUp(w.owner.GetGeneration()) {
		return nil
	}
	unstable := writeconflict.UnstableWrite{Before: before, After: after, Text: digestOf(statusText(after))}
	problem, again := f.HoldBack(unstable, w.Backoff, w.Now())
	w.requeueAt(again)
	if problem == nil {
		return nil
	}
	stalled := planned.Stalled(problem.Reason, problem.Message)
	stalled.Blockers = []plan.Problem{*problem}
	w.lastPlan = stalled
	return stalled
}

// noteFeedback has the owner planned again if a write of its status has changed what the policy
// reads of it. The write itself wakes nobody.
func (w statusWriter) noteFeedback(old, written map[string]any) {
	if w.Program.Owner.StatusRead == nil || status.Equal(w.statusRead(old), w.statusRead(written)) {
		return
	}
	if w.state.feedback == nil {
		w.state.feedback = &writeconflict.Feedback{}
	}
	w.state.feedback.RecordWrite(w.owner.GetGeneration())
	w.requeueAt(w.Now())
}

// resetFeedback notes that the status is, or may become, as the policy wants it.
func (w statusWriter) resetFeedback() {
	if w.state.feedback != nil {
		w.state.feedback.ResetWrites()
	}
}

// statusRead is what the policy reads of a status, without the times of conditions.
func (w statusWriter) statusRead(of map[string]any) map[string]any {
	return w.Program.Owner.StatusRead.ProjectObject(status.WithoutTimes(of))
}

// unstableLogged is what the log says of it: a status may be for fewer eyes than the log.
const unstableLogged = "the policy reads the status that it writes, and that does not come to rest: the owner's condition Stalled names the values"
