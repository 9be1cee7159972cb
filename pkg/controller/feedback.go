package controller

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/status"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/plan/ssadiff"
)

// statusFeedback is what is remembered of an owner whose policy reads the status that it writes.
// After each write that changes what is read the owner is planned again, until the status comes to
// rest or feedbackWrites are used up. The zero value: nothing was written.
type statusFeedback struct {
	generation int64         // of the owner, as of the writes
	writes     int           // in a row that have changed what is read
	problem    *plan.Problem // why no more is written; nil: nothing
	wanted     string        // what would have been written next; empty without a problem
	backoff    contest       // of beginning anew
}

// feedbackWrites is how many writes of a status in a row may change what the policy reads of it.
const feedbackWrites = 10

// rest notes that the status is, or may become, as the policy wants it.
func (f *statusFeedback) rest() { f.writes, f.problem, f.wanted = 0, nil, "" }

// unstable returns the plan to write in place of one whose status does not come to rest; nil if
// it may be written. Who changes the owner's spec has acted, so that all begins anew. Whatever
// else happens to the owner does not, as long as the same would be written; if it is something
// else, the backoff of contested statuses decides when it is tried.
func (p *pass) unstable(planned *plan.Plan, old, next map[string]any) *plan.Plan {
	reads := p.program.Owner.StatusRead
	if reads == nil || planned.Partial || planned.Conditions == nil {
		return nil
	}
	f, now := &p.state.feedback, p.engine.now()
	before, after := p.statusRead(old), p.statusRead(next)
	if status.Equal(before, after) {
		f.rest()
		return nil
	}
	if f.generation != p.owner.GetGeneration() {
		*f = statusFeedback{generation: p.owner.GetGeneration()}
	}
	if f.writes < feedbackWrites {
		return nil
	}
	wanted := digest(statusText(after))
	wait := f.backoff.wait(wanted, now)
	switch {
	case f.problem == nil:
		f.problem, f.wanted = unstableProblem(before, after), wanted
		f.backoff.wrote(wanted, now)
	case f.wanted == wanted:
	case wait > 0:
		p.lookAgain(now.Add(wait))
	default:
		f.rest()
		return nil
	}
	stalled := planned.Stalled(f.problem.Reason, f.problem.Message)
	stalled.Blockers = []plan.Problem{*f.problem}
	p.noteFare(stalled)
	return stalled
}

// noteFeedback has the owner planned again if a write of its status has changed what the policy
// reads of it. The write itself wakes nobody.
func (p *pass) noteFeedback(old, written map[string]any) {
	if p.program.Owner.StatusRead == nil || status.Equal(p.statusRead(old), p.statusRead(written)) {
		return
	}
	f := &p.state.feedback
	f.generation = p.owner.GetGeneration()
	f.writes++
	p.lookAgain(p.engine.now())
}

// statusRead is what the policy reads of a status, without the times of conditions.
func (p *pass) statusRead(of map[string]any) map[string]any {
	return p.program.Owner.StatusRead.Project(status.Timeless(of))
}

// unstableProblem says which values do not come to rest: of what type and size they are and are
// to be, and nothing of what they hold.
func unstableProblem(before, after map[string]any) *plan.Problem {
	object := func(status map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"owner": map[string]any{"status": status}}}
	}
	differences, _ := ssadiff.Compare(object(after), object(before), "")
	texts := make([]string, 0, conflictFields)
	for _, d := range differences[:min(len(differences), conflictFields)] {
		texts = append(texts, d.String())
	}
	if len(texts) == 0 {
		texts = append(texts, "owner.status has fields that are to go")
	}
	return &plan.Problem{Reason: v1alpha1.ReasonUnstable, Terminal: true, Message: fmt.Sprintf(
		"the policy reads the status that it writes, and that does not come to rest: it was written %d times in a row, and is to change again: %s; let it end somewhere, or do not read owner.status",
		feedbackWrites, strings.Join(texts, "; "))}
}
