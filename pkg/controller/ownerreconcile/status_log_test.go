package ownerreconcile

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// TestNewsOfStalledOwners: a line of the log names all that somebody has to act on, and
// comes again when that changes, but not for each limit that is run into.
func TestNewsOfStalledOwners(t *testing.T) {
	planned := &plan.Plan{Blockers: []plan.Problem{
		{Reason: v1alpha1.ReasonForbidden, Message: "a", Terminal: true}, {Reason: v1alpha1.ReasonForbidden, Message: "b", Terminal: true},
		{Reason: v1alpha1.ReasonProgressing, Message: "c"},
	}}
	forbidden := &plan.Problem{Reason: v1alpha1.ReasonForbidden, Message: "a; b"}
	if diff := cmp.Diff(forbidden, stalledBy(planned)); diff != "" {
		t.Errorf("stalledBy (-want +got):\n%s", diff)
	}
	if got := stalledBy(&plan.Plan{Blockers: planned.Blockers[2:]}); got != nil {
		t.Errorf("stalled by %+v, which passes by itself", got)
	}
	slow := &plan.Problem{Reason: v1alpha1.ReasonLimitExceeded, Message: "it took too long"}
	for _, c := range []struct {
		reason      string
		before, now *plan.Problem
		want        bool
	}{
		{reason: "the first", now: forbidden, want: true},
		{reason: "the same", before: forbidden, now: stalledBy(planned)},
		{reason: "less is missing", before: forbidden, now: &plan.Problem{Reason: v1alpha1.ReasonForbidden, Message: "a"}, want: true},
		{reason: "another reason", before: forbidden, now: slow, want: true},
		{reason: "another limit", before: slow, now: &plan.Problem{Reason: v1alpha1.ReasonLimitExceeded, Message: "it cost too much"}},
	} {
		if got := isNewProblem(c.before, c.now); got != c.want {
			t.Errorf("%s: news %t, want %t", c.reason, got, c.want)
		}
	}
}
