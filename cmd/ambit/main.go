// Command ambit runs Kubernetes operators from policy files, inside exactly the
// permissions it has been given. `ambit --help` lists what it can do.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/ambit-dev/ambit/pkg/cli"
)

func main() { os.Exit(run()) }

// run ends its context at the first SIGINT or SIGTERM; a second one kills.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return cli.Main(ctx, os.Args, genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr})
}
