package controller

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/status"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// statusFeedback is what is remembered of an owner whose policy reads the status that it writes.
// After each write that changes what is read the owner is planned again, until the status comes to
// rest or feedbackWrites are used up. The zero value: nothing was written.
type statusFeedback struct {
	generation int64          // of the owner, as of the writes
	writes     int            // in a row that have changed what is read
	problem    *plan.Problem  // why no more is written; nil: nothing
	wanted     string         // what would have been written next; empty without a problem
	backoff    statusConflict // of beginning anew
}

// feedbackWrites is how many writes of a status in a row may change what the policy reads of it.
const feedbackWrites = 10

// resetFeedback notes that the status is, or may become, as the policy wants it.
func (f *statusFeedback) resetFeedback() { f.writes, f.problem, f.wanted = 0, nil, "" }

// unstablePlan returns the plan to write in place of one whose status does not come to rest; nil if
// it may be written. Who changes the owner's spec has acted, so that all begins anew. Whatever
// else happens to the owner does not, as long as the same would be written; if it is something
// else, the backoff of contested statuses decides when it is tried.
func (p *ownerReconciler) unstablePlan(planned *plan.Plan, old, next map[string]any) *plan.Plan {
	reads := p.program.Owner.StatusRead
	if reads == nil || planned.Partial || planned.Conditions == nil {
		return nil
	}
	f, now := &p.state.feedback, p.controller.now()
	before, after := p.statusRead(old), p.statusRead(next)
	if status.Equal(before, after) {
		f.resetFeedback()
		return nil
	}
	if f.generation != p.owner.GetGeneration() {
		*f = statusFeedback{generation: p.owner.GetGeneration()}
	}
	if f.writes < feedbackWrites {
		return nil
	}
	wanted := digestOf(statusText(after))
	wait := f.backoff.waitToWrite(wanted, now)
	switch {
	case f.problem == nil:
		f.problem, f.wanted = unstableProblem(before, after), wanted
		f.backoff.recordWrite(wanted, p.controller.backoffAfter, now)
	case f.wanted == wanted:
	case wait > 0:
		p.requeueAt(now.Add(wait))
	default:
		f.resetFeedback()
		return nil
	}
	stalled := planned.Stalled(f.problem.Reason, f.problem.Message)
	stalled.Blockers = []plan.Problem{*f.problem}
	p.recordHealth(stalled)
	return stalled
}

// noteFeedback has the owner planned again if a write of its status has changed what the policy
// reads of it. The write itself wakes nobody.
func (p *ownerReconciler) noteFeedback(old, written map[string]any) {
	if p.program.Owner.StatusRead == nil || status.Equal(p.statusRead(old), p.statusRead(written)) {
		return
	}
	f := &p.state.feedback
	f.generation = p.owner.GetGeneration()
	f.writes++
	p.requeueAt(p.controller.now())
}

// statusRead is what the policy reads of a status, without the times of conditions.
func (p *ownerReconciler) statusRead(of map[string]any) map[string]any {
	return p.program.Owner.StatusRead.Project(status.WithoutTimes(of))
}

// unstableProblem says which values do not come to rest: the first that differ, as they are in the
// status and as they would be written there. Whoever reads the owner may read both.
func unstableProblem(before, after map[string]any) *plan.Problem {
	changes := appendChanges(nil, "owner.status", before, after)
	texts := make([]string, len(changes))
	for i, c := range changes {
		texts[i] = c.String()
	}
	return &plan.Problem{Reason: v1alpha1.ReasonUnstable, Terminal: true, Message: fmt.Sprintf(
		"the policy reads the status that it writes, and that does not come to rest: it was written %d times in a row, and is to change again: %s; let it end somewhere, or do not read owner.status",
		feedbackWrites, strings.Join(texts, "; "))}
}

// unstableLogged is what the log says of it: a status may be for fewer eyes than the log.
const unstableLogged = "the policy reads the status that it writes, and that does not come to rest: the owner's condition Stalled names the values"

// statusChange is a field of a status that is to have another value. A value is nil if there is
// none, which in a status is the same as null.
type statusChange struct {
	path          string
	before, after any
}

// appendChanges appends the fields in which two values differ to changes, in the order of their
// names, until there are conflictFields.
func appendChanges(changes []statusChange, path string, before, after any) []statusChange {
	if len(changes) == conflictFields || equality.Semantic.DeepEqual(before, after) {
		return changes
	}
	if a, b, ok := pair[map[string]any](before, after); ok {
		names := maps.Clone(a)
		maps.Copy(names, b)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			changes = appendChanges(changes, path+"."+name, a[name], b[name])
		}
		return changes
	}
	if a, b, ok := pair[[]any](before, after); ok && len(a) == len(b) {
		for i := range a {
			changes = appendChanges(changes, fmt.Sprintf("%s[%d]", path, i), a[i], b[i])
		}
		return changes
	}
	return append(changes, statusChange{path: path, before: before, after: after})
}

// pair returns two values as values of one type, and whether they are.
func pair[T any](a, b any) (T, T, bool) {
	x, ok := a.(T)
	y, both := b.(T)
	return x, y, ok && both
}

// String is as in `owner.status.step is 10, and is to be 11`. Of long values that begin alike it
// has the part where they differ.
func (c statusChange) String() string {
	before, after := jsonText(c.before), jsonText(c.after)
	from := 0
	for from < min(len(before), len(after)) && before[from] == after[from] {
		from++
	}
	if from -= changeContext; from < changeRunes-2*changeContext {
		from = 0
	}
	return fmt.Sprintf("%s is %s, and is to be %s", c.path, cutText(before, from), cutText(after, from))
}

const (
	// changeRunes is how much of a value a message quotes.
	changeRunes = 100
	// changeContext is how much of that comes before the difference, if that is far behind.
	changeContext = 20
)

// cutText returns at most changeRunes of a text, with the mark for what is left out before and
// behind them.
func cutText(text []rune, from int) string {
	to := min(from+changeRunes, len(text))
	quoted := string(text[from:to])
	if from > 0 {
		quoted = "..." + quoted
	}
	if to < len(text) {
		quoted += "..."
	}
	return quoted
}

// jsonText is a value of a status as compact JSON.
func jsonText(value any) []rune {
	if value == nil {
		return []rune("nothing")
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // JSON-like by construction
	return bytes.Runes(bytes.TrimSuffix(text.Bytes(), []byte("\n")))
}
