package cli

import "testing"

// TestCleanupState: before anything is counted no number is said, and what is in the way is
// said once, if it is not the result.
func TestCleanupState(t *testing.T) {
	const halt = `cannot clean up: policy "web": ServiceAccountMissing: no account`
	halted := []leftover{{Policy: "web", Why: "ServiceAccountMissing: no account"}}
	var s cleanupState
	for i, step := range []struct {
		left  int
		halts []leftover
		ends  bool
		want  string
	}{
		{want: "looking for what is left to clean up"},
		{left: 3, want: "3 left to clean up"},
		{halts: halted, want: halt},
		{halts: halted},
		{left: 1, halts: halted, want: "1 left to clean up"},
		{left: 1, want: "1 left to clean up"},
		{left: 1, halts: halted, want: "1 left to clean up\n" + halt},
		{halts: halted, ends: true},
	} {
		s.set(step.left, step.halts, step.ends)
		if got := s.next(); got != step.want {
			t.Errorf("step %d: it says %q, want %q", i, got, step.want)
		}
	}
	var hopeless cleanupState
	if hopeless.set(0, halted, true); hopeless.next() != "" {
		t.Error("what is about to be the result is said before")
	}
}
