package writeconflict

import (
	"strings"
	"testing"
	"time"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// TestMetadata: how often the owner's metadata is written in virtual time, by what becomes of
// it.
func TestMetadata(t *testing.T) {
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
		"Rarely": {reason: "by hand, it is mended at once", becomes: func(int) plan.OwnerMetadata { return none }, after: Over, soon: 1, hour: 30, atLeast: 30},
		"Stands": {reason: "what stands is no fight", becomes: func(int) plan.OwnerMetadata { return ours }, after: time.Second, soon: 21, hour: 3600, atLeast: 3600},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var c Metadata
			state := none
			written := writeForAnHour(tc.after, func(writes int, now time.Time) time.Duration {
				if c.IsContested(state) {
					if wait := c.WaitToWrite("x", now); wait > 0 {
						return wait
					}
				}
				w := MetadataWrite{Text: "x", Before: state}
				if tc.accepted == nil || tc.accepted(writes) {
					w.After = &ours
				}
				c.RecordWrite(w, growingWait, now)
				state = tc.becomes(writes)
				return 0
			})
			written.checkPace(t, tc.reason, tc.soon, tc.hour, tc.atLeast)
		})
	}
}

// TestMetadataProblem: what the owner says names what is fought over, and who fights.
func TestMetadataProblem(t *testing.T) {
	cases := map[string]struct {
		c     Metadata
		names []string
		not   string
	}{
		"Annotation": {Metadata{record: true, Writer: "argocd"}, []string{v1alpha1.AnnotationChildren, `field manager "argocd"`}, v1alpha1.FinalizerCleanup},
		"Finalizer":  {Metadata{final: true}, []string{v1alpha1.FinalizerCleanup, "another writer"}, v1alpha1.AnnotationChildren},
		"Both":       {Metadata{record: true, final: true}, []string{v1alpha1.FinalizerCleanup, v1alpha1.AnnotationChildren}, "field manager"},
	}
	for name, tc := range cases {
		problem := tc.c.ConflictProblem()
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

// TestStaleVersion: after a conflict nothing is written as of that version for longer and longer; as of
// another one it is at once.
func TestStaleVersion(t *testing.T) {
	var s StaleVersion
	now := time.Unix(1000, 0)
	wait := func(failures int) time.Duration { return time.Second << failures }
	holds := func(reason, version string, want bool) {
		t.Helper()
		if got := s.HoldsBack(version, now); got != want {
			t.Errorf("%s: held back: %t", reason, got)
		}
	}
	holds("nothing was written", "7", false)
	holds("nor is an unknown version held back", "", false)
	s.RecordConflict("7", wait, now)
	holds("it has changed since", "7", true)
	holds("the stream shows a newer one", "8", false)
	now = now.Add(time.Second)
	holds("the answer may have been wrong", "7", false)
	s.RecordConflict("7", wait, now)
	now = now.Add(time.Second)
	holds("it was not", "7", true)
	s.RecordConflict("8", wait, now)
	now = now.Add(time.Second)
	holds("the newer one has changed as well, for the first time", "8", false)
	holds("what is older does not come back", "7", false)
}
