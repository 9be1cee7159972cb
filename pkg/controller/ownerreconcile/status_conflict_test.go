package ownerreconcile

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/writeconflict"
	"github.com/ambit-dev/ambit/pkg/internal/packed"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// TestContestLost: a write that comes too late counts as lost, and one that was refused for another
// reason, or is not contested, does not count.
func TestContestLost(t *testing.T) {
	b := newBench(t, "")
	clock := b.clock
	p := b.begin(nil)
	for range 10 {
		statusWriter{p}.recordStatusConflict("a", nil)
	}
	statusWriter{p}.recordStatusConflict("b", apierrors.NewConflict(schema.GroupResource{}, "x", nil))
	statusWriter{p}.recordStatusConflict("c", apierrors.NewBadRequest("it has a backoff of its own"))
	statusWriter{p}.recordStatusConflict("", nil)
	var want writeconflict.Backoff
	for range 10 {
		want.RecordWrite("a", testBackoff, clock.Now())
	}
	want.RecordLostWrite(testBackoff, clock.Now())
	if got := p.state.statusConflict; got != want {
		t.Errorf("the backoff is %+v, want %+v", got, want)
	}
}

// TestContested: who writes other fields and conditions does not contest ours; nor does one
// who notes the latest generation first, or has written before we have said anything.
func TestContested(t *testing.T) {
	b := newBench(t, "  conditions: [{type: Mine, status: 'true'}]")
	says := func(condition, status string, more ...any) map[string]any {
		c := map[string]any{"type": condition, "status": status, "lastTransitionTime": "2026-01-01T00:00:00Z"}
		return map[string]any{"conditions": append([]any{c}, more...)}
	}
	noted := func(status map[string]any, generation int64) map[string]any {
		status["observedGeneration"] = generation
		return status
	}
	owner := &unstructured.Unstructured{}
	owner.SetGeneration(2)
	theirs := map[string]any{"type": "Theirs", "status": "True"}
	cases := map[string]struct {
		reason    string
		kept, old map[string]any
		want      bool
	}{
		"Stands":    {reason: "it is as we wrote it", kept: says("Ready", "True"), old: says("Ready", "True")},
		"Other":     {reason: "another condition was added", kept: says("Ready", "True"), old: says("Ready", "True", theirs)},
		"Ours":      {reason: "ours was changed", kept: says("Ready", "True"), old: says("Ready", "False"), want: true},
		"Policy":    {reason: "that of the policy was changed", kept: says("Mine", "True"), old: says("Mine", "False"), want: true},
		"WipedAway": {reason: "there is nothing left", kept: says("Ready", "True"), old: map[string]any{}, want: true},
		"Noted":     {reason: "another controller has noted the latest generation", kept: noted(says("Ready", "True"), 1), old: noted(says("Ready", "True"), 2)},
		"Misnoted":  {reason: "somebody has noted what is not so", kept: noted(says("Ready", "True"), 1), old: noted(says("Ready", "True"), 0), want: true},
		"Unsaid":    {reason: "we have not said anything", old: says("Ready", "False")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b.reset()
			b.state.status.kept = packed.PackMap(tc.kept, nil)
			p := b.begin(owner)
			got := statusWriter{p}.statusConflictOf(tc.old, says(v1alpha1.ConditionReady, "True"))
			if (got != "") != tc.want {
				t.Errorf("%s: contested %t", tc.reason, got != "")
			}
		})
	}
}

// TestContestIsOver: an owner whose status was fought over is looked at again when our word has
// stood for long enough, and not after that.
func TestContestIsOver(t *testing.T) {
	b := newBench(t, "")
	clock := b.clock
	state := b.state
	again := func() time.Duration {
		p := b.begin(nil)
		statusWriter{p}.confirmStatus(t.Context())
		return p.RequeueAfter(&plan.Plan{})
	}
	state.statusConflict.RecordWrite("a", testBackoff, clock.Now())
	if wait := again(); wait != 0 {
		t.Errorf("after a single one it is looked at in %s", wait)
	}
	state.statusConflict.MarkReported()
	clock.Step(time.Second)
	if wait := again(); wait != writeconflict.Over-time.Second {
		t.Errorf("it is looked at in %s", wait)
	}
	clock.Step(writeconflict.Over)
	if wait := again(); wait != 0 || state.statusConflict != (writeconflict.Backoff{}) {
		t.Errorf("it is looked at in %s, with %+v", wait, state.statusConflict)
	}
}
