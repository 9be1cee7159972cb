package writeconflict

import (
	"testing"
	"time"
)

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
