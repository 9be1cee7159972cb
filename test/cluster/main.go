package cluster

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"
)

// startTimeout bounds the start in Main, which takes seconds on an idle machine.
const startTimeout = 3 * time.Minute

// Main is for TestMain: it starts a control plane, hands it to set, runs the
// tests, stops the control plane, and returns the exit code. That is 1 if the
// control plane does not start, or has ended while the tests ran. With `go test -short` no
// test runs: all of them need it.
//
//	func TestMain(m *testing.M) {
//		os.Exit(cluster.Main(m, cluster.Options{}, func(c *cluster.Cluster) { control = c }))
//	}
func Main(m *testing.M, o Options, set func(*Cluster)) int {
	flag.Parse() // testing.Short needs it
	if testing.Short() {
		return 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	c, err := Start(ctx, o)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	set(c)
	code := m.Run()
	if err := c.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}
