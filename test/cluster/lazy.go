package cluster

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
)

// Lazy is a control plane that the first test that needs it starts, for packages of which
// many tests need none. It is safe for concurrent use. In TestMain it goes around the
// tests:
//
//	var control = cluster.NewLazy(cluster.Options{})
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(control.Around(m)) }
type Lazy struct {
	options Options
	once    sync.Once
	cluster *Cluster // nil before it has started, or if it could not
	err     error
}

// NewLazy starts nothing yet.
func NewLazy(o Options) *Lazy { return &Lazy{options: o} }

// Cluster returns the control plane, the same to all. If it does not start, this and every
// further test that needs it fails. With `go test -short` they are skipped.
func (l *Lazy) Cluster(t testing.TB) *Cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes a control plane, and these are the short tests")
	}
	l.once.Do(func() {
		// It outlives the test.
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		l.cluster, l.err = Start(ctx, l.options)
	})
	if l.err != nil {
		t.Fatal(l.err)
	}
	return l.cluster
}

// Tests are what TestMain runs: a *testing.M, or what goes around one.
type Tests interface{ Run() int }

// Around returns tests that stop the control plane when they have ended, if one of them has
// started it. Their exit code is at least 1 if it had ended while they ran.
func (l *Lazy) Around(tests Tests) Tests { return around{lazy: l, tests: tests} }

type around struct {
	lazy  *Lazy
	tests Tests
}

// Run is called once, and no test runs any more when it stops the control plane.
func (a around) Run() int {
	code := a.tests.Run()
	if a.lazy.cluster == nil {
		return code
	}
	if err := a.lazy.cluster.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}
