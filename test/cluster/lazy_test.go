package cluster

import (
	"syscall"
	"testing"
)

// testsFunc is Tests of one function.
type testsFunc func() int

func (f testsFunc) Run() int { return f() }

// TestLazy: what is started is started once and stopped, and the exit code of the tests
// stays unless the control plane had ended before.
func TestLazy(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		code   int
		run    func(*Cluster)
		want   int
	}{
		"Passed": {"Nothing is wrong.", 0, func(*Cluster) {}, 0},
		"Failed": {"The tests know best what is wrong.", 2, func(*Cluster) {}, 2},
		"Ended": {"A control plane that ends by itself is a failure.", 0, func(c *Cluster) {
			if err := syscall.Kill(c.process.pids["etcd"], syscall.SIGKILL); err != nil {
				t.Error(err)
			}
			<-c.process.exited
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lazy := NewLazy(small)
			got := lazy.Around(testsFunc(func() int {
				c := lazy.Cluster(t)
				if again := lazy.Cluster(t); again != c {
					t.Error("there are two")
				}
				tc.run(c)
				return tc.code
			})).Run()
			if got != tc.want {
				t.Errorf("%s Exit code %d, want %d", tc.reason, got, tc.want)
			}
			if left := living(lazy.cluster.process.pids); len(left) > 0 {
				t.Errorf("these live: %v", left)
			}
		})
	}
}

// TestLazyIdle: where no test needs a control plane, none is started.
func TestLazyIdle(t *testing.T) {
	t.Parallel()
	lazy := NewLazy(Options{Nodes: -1}) // it could not start
	if code := lazy.Around(testsFunc(func() int { return 3 })).Run(); code != 3 || lazy.err != nil {
		t.Errorf("exit code %d, error %v; want those of the tests, and none", code, lazy.err)
	}
}
