// Command controlplane builds and runs a real Kubernetes control plane on one
// machine: etcd, kube-apiserver with RBAC, kube-controller-manager,
// kube-scheduler, and KWOK for nodes and Pods without containers. go.mod pins
// all of them; they run as ordinary processes on loopback, as any user, without
// containers, and what they store is thrown away at the end.
//
// The program itself needs the standard library only.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

const usage = `usage:
  controlplane build [--bin DIR]   build the servers into DIR
  controlplane up [flags]          run a control plane until interrupted

"controlplane up -h" lists the flags. Servers that are found in a folder of
$KUBEBUILDER_ASSETS are used from there.
`

// main stays on one thread: the servers die with the thread that started them.
func main() {
	runtime.LockOSThread()
	os.Exit(run(os.Args[1:]))
}

// run returns the exit code: 0 fine, 1 failed, 2 usage. SIGINT and SIGTERM end
// both verbs in order. That takes a moment, and further ones change nothing, as
// some programs send two at once.
func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	verbs := map[string]func(context.Context, []string) error{"build": runBuild, "up": runUp}
	if len(args) == 0 || verbs[args[0]] == nil {
		fmt.Fprint(os.Stderr, usage)
		return 2
	}
	err := verbs[args[0]](ctx, args[1:])
	var bad usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &bad):
		fmt.Fprintf(os.Stderr, "controlplane %s: %v\n", args[0], err)
		return 2
	}
	fmt.Fprintf(os.Stderr, "controlplane %s: %v\n", args[0], err)
	return 1
}

// usageError is a mistake on the command line.
type usageError struct{ message string }

func (e usageError) Error() string { return e.message }

// parse parses flags only; an argument that is not a flag is a mistake.
func parse(flags *flag.FlagSet, args []string) error {
	flags.SetOutput(os.Stderr)
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return usageError{err.Error()}
	}
	if flags.NArg() > 0 {
		return usageError{fmt.Sprintf("unexpected argument %q", flags.Arg(0))}
	}
	return nil
}
