package cli_test

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/ambit-dev/ambit/pkg/cli"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// TestMain lets scripts run `ambit` and `kubectl-ambit`, and programs of somebody's own with
// functions: this test binary, under these names.
func TestMain(m *testing.M) {
	testscript.Main(control.Around(m), map[string]func(){
		"ambit": func() { runMain() }, "kubectl-ambit": func() { runMain() },
		"acme": func() { runMain(cli.WithFunctions(acmeFunctions()...)) },
		"mistaken": func() {
			runMain(cli.WithFunctions(policy.Function("slug", strings.ToLower), policy.Function("acme.slug", nil)))
		},
	})
}

// acmeFunctions are those of the program acme. The last two are not as they should be.
func acmeFunctions() []policy.GoFunction {
	return []policy.GoFunction{
		policy.Function("acme.slug", func(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "-")) }),
		policy.Function("acme.labels", func(labels map[string]string, tier string) map[string]string {
			labels["tier"] = tier
			return labels
		}),
		policy.Function("acme.third", func(words []string) string { return words[2] }),
		policy.Function("acme.random", rand.Text),
	}
}

// rewrite writes the golden files in the scripts anew.
var rewrite = flag.Bool("rewrite", false, "write the golden files in the scripts anew")

func runMain(options ...cli.Option) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code := cli.Main(ctx, os.Args, genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}, options...)
	os.Exit(code)
}

// TestScripts runs testdata/script/*.txtar, each in an empty folder, with a
// kubeconfig that is not there. -rewrite writes the golden files in them anew.
func TestScripts(t *testing.T) {
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 root + "/testdata/script", // commands change the folder of this process
		UpdateScripts:       *rewrite,
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		Setup: func(env *testscript.Env) error {
			env.Setenv("KUBECONFIG", env.WorkDir+"/nowhere")
			env.Setenv("REPO", root+"/../..")
			return nil
		},
	})
}

// exits runs a program and demands its exit code: `exits 1 ambit validate ...`.
func exits(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if needsProcess(args[1:]) {
		got = runProcess(ts, args[1:])
	} else {
		got = runHere(ts, args[1:])
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// needsProcess reports whether a command is run in a process of its own: `run` and `cleanup` set
// the loggers of the libraries, which this process uses too, and `-` is the stdin of a script.
// The others cost much less without: to start this binary takes as long as ten of them.
func needsProcess(command []string) bool {
	return command[0] != "ambit" || slices.Contains(command, "-") ||
		len(command) > 1 && (command[1] == "run" || command[1] == "cleanup")
}

// runProcess runs a command, and returns its exit code.
func runProcess(ts *testscript.TestScript, command []string) int {
	err := ts.Exec(command[0], command[1:]...)
	if err == nil {
		return 0
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		ts.Fatalf("running %s: %v", command[0], err)
	}
	return exit.ExitCode()
}

// here is held by the script whose folder and environment this process has: scripts run beside
// each other.
var here sync.Mutex

// runHere runs a command of ambit in this process, in the folder and with the environment of the
// script, and returns what would be its exit code.
func runHere(ts *testscript.TestScript, command []string) int {
	here.Lock()
	defer here.Unlock()
	back, err := os.Getwd()
	ts.Check(err)
	ts.Check(os.Chdir(ts.MkAbs(".")))
	defer func() { ts.Check(os.Chdir(back)) }()
	for _, name := range []string{"HOME", "KUBECONFIG", "POD_NAMESPACE", "WATCH_NAMESPACE"} {
		before, was := os.LookupEnv(name)
		ts.Check(os.Setenv(name, ts.Getenv(name)))
		defer func() {
			if ts.Check(os.Unsetenv(name)); was {
				ts.Check(os.Setenv(name, before))
			}
		}()
	}
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: ts.Stdout(), ErrOut: ts.Stderr()}
	return cli.Main(context.Background(), command, streams)
}
