// Package timed is for tests that know how long something may take by the wall clock. On a busy machine nothing is
// promised: `make test` only logs what took longer, and `make soak` fails.
package timed

import (
	"flag"
	"testing"
	"time"
)

var strict = flag.Bool("timed", false, "stories fail if something takes longer than is promised: for a machine that does nothing else")

// Check says when something took longer than is promised. With -timed that is an error.
func Check(t testing.TB, what string, took, within time.Duration) {
	t.Helper()
	switch {
	case took <= within:
	case *strict:
		t.Errorf("%s: after %v, which is promised within %v", what, took, within)
	default:
		t.Logf("%s: after %v, and %v on a machine that is not busy", what, took, within)
	}
}
