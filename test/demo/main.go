// Command demo shows Ambit at work: it starts a real control plane, runs
// bin/ambit with policies/memcached.yaml as a ServiceAccount with few rights,
// plays an ordinary day of an operator, then grants, takes and grants again the
// rights in one more namespace, and tells in plain words what it does and sees.
// Run it with `make demo`, in the root of the repository. Where kubectl is
// installed it applies what `ambit rbac --missing` prints; it is not needed.
//
// What should happen is awaited by watching the API server. What does not happen
// in time ends the demo with exit code 1 and the end of Ambit's log.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	deadline := flag.Duration("deadline", time.Minute, "How long one step may take before the demo fails")
	flag.Parse()
	if err := play(ctx, os.Stdout, *deadline); err != nil {
		fmt.Fprintf(os.Stderr, "\nerror: %v\n", err)
		return 1
	}
	return 0
}

// play runs all steps, and then ends all that they started.
func play(ctx context.Context, out io.Writer, deadline time.Duration) error {
	began := time.Now()
	folder, err := os.MkdirTemp("", "ambit-demo-")
	if err != nil {
		return err
	}
	d := &demo{narrator: narrator{out: out}, folder: folder}
	fmt.Fprintln(out, "A Memcached operator from one policy file, on a real control plane.")
	fmt.Fprintln(out, "Lines with $ are what a person would type; the demo asks the API server for the same.")
	err = d.play(ctx, deadline)
	if err != nil {
		d.confess(context.WithoutCancel(ctx))
	}
	if closeErr := d.close(); err == nil {
		err = closeErr
	}
	if err == nil {
		fmt.Fprintf(out, "\nAll of it took %s.\n", seconds(time.Since(began)))
	}
	return err
}
