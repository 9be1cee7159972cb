package lazylog

import (
	"errors"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
)

// TestSameLines: a lazy logger writes the lines of the logger it was made of, with the same callers.
func TestSameLines(t *testing.T) {
	lines := func(wrap func(logr.Logger) logr.Logger) (lines []string) {
		log := wrap(funcr.New(func(prefix, args string) { lines = append(lines, prefix+": "+args) },
			funcr.Options{Verbosity: 1, LogCaller: funcr.All}).WithValues("before", 0))
		owner := log.WithValues("name", "a")
		sibling := owner.WithValues("kind", "x")
		owner.WithValues("kind", "y").Info("first", "n", 1)
		sibling.V(1).Info("second")
		sibling.V(2).Info("not written")
		sibling.WithName("part").Error(errors.New("no"), "third", "n", 2)
		helper(sibling.WithCallDepth(1))
		return lines
	}
	want, got := lines(func(log logr.Logger) logr.Logger { return log }), lines(New)
	if diff := cmp.Diff(want, got); diff != "" || len(got) != 4 {
		t.Errorf("%d lines, -want +got:\n%s", len(got), diff)
	}
	New(logr.Discard()).WithValues("a", 1).Info("nobody reads it")
}

func helper(log logr.Logger) { log.Info("said by the caller") }

// BenchmarkWithValues: a logger that writes nothing.
func BenchmarkWithValues(b *testing.B) {
	log := New(funcr.New(func(string, string) {}, funcr.Options{}))
	b.ReportAllocs()
	for b.Loop() {
		log.WithValues("namespace", "a", "name", "b").WithValues("id", "c").V(1).Info("done")
	}
}
