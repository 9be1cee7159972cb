// Package cli is the command line: flags become options structs, and each
// command is a Run method on one, with its streams injected.
//
// Manners, the same for all commands: results go to stdout; errors, findings of
// a command whose result is something else, and progress go to stderr; an error
// is one line that begins `error: `. The exit code is 0 when all is well, 1 when
// there are findings, 2 for wrong usage, 3 for an error of the cluster or a
// missing right. `validate`, `render`, `test` and `version` open no socket, nor does `rbac`
// unless it is asked what is missing or told of a cluster.
//
// The package decides nothing about policies: what it knows of them is in pkg/policy,
// pkg/plan and pkg/simulate.
package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/ambit-dev/ambit/pkg/policy"
)

// commandEnv is what every command is given.
type commandEnv struct {
	genericiooptions.IOStreams
	// Functions are those that policies may call; nil for none.
	Functions *policy.Functions
}

// Option is something that a program of your own has beside what `ambit` has.
type Option func(*commandEnv) error

// WithFunctions has every command know functions of Go that policies may call, those in the cluster
// included. What is wrong with them is the error of every command. Of several such Options the last counts.
func WithFunctions(list ...policy.GoFunction) Option {
	return func(env *commandEnv) (err error) {
		env.Functions, err = policy.NewFunctions(list...)
		return err
	}
}

// Main runs the command line args, whose first element is the name that the
// program was called by, and returns the exit code. It returns when the command
// is done; `run` is done when ctx ends.
func Main(ctx context.Context, args []string, streams genericiooptions.IOStreams, options ...Option) int {
	env := commandEnv{IOStreams: streams}
	for _, option := range options {
		if err := option(&env); err != nil {
			fmt.Fprintf(streams.ErrOut, "error: %v\n", err)
			return exitUsage
		}
	}
	root := newRootCommand(args[0], env)
	root.SetArgs(args[1:])
	called, err := root.ExecuteContextC(ctx)
	code, message := exitCode(err)
	if message != "" {
		fmt.Fprintf(streams.ErrOut, "error: %s\n", message)
	}
	if code == exitUsage {
		fmt.Fprintf(streams.ErrOut, "See '%s --help' for usage.\n", called.CommandPath())
	}
	return code
}

// newRootCommand returns the command `ambit` with all below it. program is argv[0]:
// under the name kubectl-ambit the help texts say `kubectl ambit`.
func newRootCommand(program string, env commandEnv) *cobra.Command {
	root := &cobra.Command{
		Use:   "ambit",
		Short: "Run Kubernetes operators from policy files",
		Long: `Ambit runs Kubernetes operators from policy files, inside exactly the
permissions it has been given.

Exit codes: 0 all is well; 1 findings; 2 wrong usage; 3 an error of the cluster or
a missing right. Results go to stdout, everything else to stderr.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	if strings.HasPrefix(filepath.Base(program), "kubectl-") {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl ambit"}
	}
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(wrongFlag)
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.ErrOut)
	root.AddCommand(newRunCommand(env), newValidateCommand(env), newRenderCommand(env), newTestCommand(env), newRBACCommand(env), newAccessCommand(env), newCleanupCommand(env), newLeftoversCommand(env), newVersionCommand(env.IOStreams))
	return root
}
