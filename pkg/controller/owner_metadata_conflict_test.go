package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// TestMarkContest: how often the owner's metadata is written in virtual time, by what becomes of
// it.
func TestMarkContest(t *testing.T) {
	none := plan.OwnerMetadata{}
	ours := plan.OwnerMetadata{Finalizer: true, Children: "x"}
	cases := map[string]struct {
		reason   string
		becomes  func(turn int) plan.OwnerMetadata // after a write
		accepted func(turn int) bool
		after    time.Duration
		// soon and hour are the most writes in 20 s and in an hour, and atLeast the least.
		soon, hour, atLeast int
	}{
		"TakenBack": {reason: "it is answered more and more rarely", becomes: func(int) plan.OwnerMetadata { return none }, soon: 8, hour: 75, atLeast: 50},
		"InTurns": {reason: "so is who takes back now this and now that", becomes: func(turn int) plan.OwnerMetadata {
			return []plan.OwnerMetadata{{Finalizer: true}, {Children: "x"}}[turn%2]
		}, soon: 8, hour: 75, atLeast: 50},
		"Faster": {reason: "so is who writes while it is written", becomes: func(int) plan.OwnerMetadata { return none },
			accepted: func(turn int) bool { return turn == 0 }, soon: 8, hour: 75, atLeast: 50},
		"Rarely": {reason: "by hand, it is mended at once", becomes: func(int) plan.OwnerMetadata { return none }, after: contestOver, soon: 1, hour: 30, atLeast: 30},
		"Stands": {reason: "what stands is no fight", becomes: func(int) plan.OwnerMetadata { return ours }, after: time.Second, soon: 21, hour: 3600, atLeast: 3600},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var c markContest
			began := time.Unix(1000, 0)
			now, writes, soon, state := began, 0, 0, none
			for now.Sub(began) < time.Hour {
				if c.isContested(state) {
					if wait := c.backoff.waitToWrite("x", now); wait > 0 {
						now = now.Add(wait)
						continue
					}
				}
				after := &ours
				if tc.accepted != nil && !tc.accepted(writes) {
					after = nil
				}
				c.write(state, after, "x", testBackoff, now)
				state = tc.becomes(writes)
				if writes++; now.Sub(began) <= 20*time.Second {
					soon++
				}
				now = now.Add(max(tc.after, time.Millisecond))
			}
			t.Logf("%d writes in 20 s, %d in an hour", soon, writes)
			if soon > tc.soon || writes > tc.hour || writes < tc.atLeast {
				t.Errorf("%s: %d writes in 20 s, want at most %d, and %d in an hour, want %d to %d", tc.reason, soon, tc.soon, writes, tc.atLeast, tc.hour)
			}
		})
	}
}

// TestMarkContestProblem: what the owner says names what is fought over, and who fights.
func TestMarkContestProblem(t *testing.T) {
	cases := map[string]struct {
		c     markContest
		names []string
		not   string
	}{
		"Annotation": {markContest{record: true, by: "argocd"}, []string{v1alpha1.AnnotationChildren, `field manager "argocd"`}, v1alpha1.FinalizerCleanup},
		"Finalizer":  {markContest{final: true}, []string{v1alpha1.FinalizerCleanup, "another writer"}, v1alpha1.AnnotationChildren},
		"Both":       {markContest{record: true, final: true}, []string{v1alpha1.FinalizerCleanup, v1alpha1.AnnotationChildren}, "field manager"},
	}
	for name, tc := range cases {
		problem := tc.c.problem()
		if problem.Reason != v1alpha1.ReasonContested || !problem.Terminal || strings.Contains(problem.Message, tc.not) {
			t.Errorf("%s: %+v", name, problem)
		}
		for _, want := range tc.names {
			if !strings.Contains(problem.Message, want) {
				t.Errorf("%s: the message does not have %q: %s", name, want, problem.Message)
			}
		}
	}
}
