// Package raced says whether a test was built with the race detector. That makes a computation about eight times as
// long and finds nothing in it that few cases do not show as well. So a test that draws many cases runs few of them
// with the detector, and all of them without it: `make test-unraced` is that run.
package raced

import (
	"flag"
	"testing"
)

var all = flag.Bool("all-raced", false, "with the race detector no test is skipped because it takes long with it")

// Skip skips a test that takes long with the race detector, which finds in it nothing that others do not show: nothing runs
// concurrently, or what does is that of drawn plans, too. `make soak` runs those of the simulated cluster with it (-all-raced).
func Skip(t testing.TB) {
	t.Helper()
	if Enabled && !*all {
		t.Skip("without the race detector it is run: see package raced")
	}
}

// Few is how many cases a test runs: all of them, or with the race detector no more than few.
func Few(few, all int) int {
	if Enabled {
		return few
	}
	return all
}
