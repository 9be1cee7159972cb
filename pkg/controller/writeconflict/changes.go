package writeconflict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
)

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
	if a, b, ok := typedPair[map[string]any](before, after); ok {
		names := maps.Clone(a)
		maps.Copy(names, b)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			changes = appendChanges(changes, path+"."+name, a[name], b[name])
		}
		return changes
	}
	if a, b, ok := typedPair[[]any](before, after); ok && len(a) == len(b) {
		for i := range a {
			changes = appendChanges(changes, fmt.Sprintf("%s[%d]", path, i), a[i], b[i])
		}
		return changes
	}
	return append(changes, statusChange{path: path, before: before, after: after})
}

// typedPair returns two values as values of one type, and whether they are.
func typedPair[T any](a, b any) (T, T, bool) {
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
	return fmt.Sprintf("%s is %s, and is to be %s", c.path, truncateText(before, from), truncateText(after, from))
}

const (
	// changeRunes is how much of a value a message quotes.
	changeRunes = 100
	// changeContext is how much of that comes before the difference, if that is far behind.
	changeContext = 20
)

// truncateText returns at most changeRunes of a text, with the mark for what is left out before and
// behind them.
func truncateText(text []rune, from int) string {
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
