package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/ambit-dev/ambit/test/bench/program"
)

func main() {
	o := flags()
	program.Main("rights", func(ctx context.Context) error { return run(ctx, o) })
}

// options say what is measured.
type options struct {
	// Cycles is how many there are, of all namespaces together.
	Cycles int
	// Namespaces is how many have cycles.
	Namespaces int
	// Streams is how many watches are open at most where RBAC objects are not
	// watchable; the namespaces that stay granted are as many as that takes.
	Streams int
	// Pause is the longest pause before each request of a cycle.
	Pause time.Duration
	// Quiet is how long the cost of the open watches is measured.
	Quiet time.Duration
	// Timeout is how long Ambit may take for any one thing.
	Timeout time.Duration
	// Seed is that of the pauses.
	Seed uint64
	// Bin is the folder of the binaries.
	Bin string
}

// flags returns the options of the command line; it exits with 2 on a usage error.
func flags() options {
	var o options
	flag.IntVar(&o.Cycles, "cycles", 100, "cycles in all")
	flag.IntVar(&o.Namespaces, "namespaces", 20, "namespaces that have cycles")
	flag.IntVar(&o.Streams, "streams", 200, "most watches open where RBAC objects are not watchable")
	flag.DurationVar(&o.Pause, "pause", 4*time.Second, "the longest pause before each request of a cycle")
	flag.DurationVar(&o.Quiet, "quiet", 15*time.Second, "how long the cost of open watches is measured")
	flag.DurationVar(&o.Timeout, "timeout", time.Minute, "the longest that Ambit may take for any one thing")
	flag.Uint64Var(&o.Seed, "seed", rand.Uint64(), "seed of the pauses")
	flag.StringVar(&o.Bin, "bin", "bin", "folder of the binaries")
	flag.Parse()
	if o.Cycles < 1 || o.Namespaces < 1 || o.Pause < 0 || o.Quiet <= 0 {
		fmt.Fprintln(os.Stderr, "rights: -cycles and -namespaces are at least 1, -quiet is more than 0")
		os.Exit(2)
	}
	return o
}

// staying is how many namespaces stay granted: each has a watch of Deployments
// and one of Pods, those with cycles have the same, and one watch is of all owners.
func (o options) staying() int { return max(0, (o.Streams-1)/watchesEach-o.Namespaces) }

// command is Ambit, but for how it reaches the API server.
func (o options) command() []string {
	return []string{filepath.Join(o.Bin, "ambit"), "run", "-f", "policies/memcached.yaml"}
}

// run measures both ways and prints the table.
func run(ctx context.Context, o options) (err error) {
	s, err := open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	var results []result
	for _, w := range ways() {
		got, err := s.measure(ctx, w)
		if err != nil {
			return fmt.Errorf("%s (-seed %d): %w", w.title, o.Seed, err)
		}
		results = append(results, got)
	}
	return write(os.Stdout, o, results)
}

// progress tells whoever waits what is going on.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "[%s] %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
