package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// Main runs the command line args, whose first element is the name that the
// program was called by, and returns the exit code. It returns when the command
// is done; `run` is done when ctx ends.
func Main(ctx context.Context, args []string, streams genericiooptions.IOStreams) int {
	root := newRoot(args[0], streams)
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

// newRoot returns the command `ambit` with all below it. program is argv[0]:
// under the name kubectl-ambit the help texts say `kubectl ambit`.
func newRoot(program string, streams genericiooptions.IOStreams) *cobra.Command {
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
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	root.AddCommand(newRun(streams), newValidate(streams), newRender(streams), newTest(streams), newRBAC(streams), newAccess(streams), newCleanup(streams), newLeftovers(streams), newVersion(streams))
	return root
}

// noArgs refuses arguments, and says so in words that name the first of them.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasSubCommands() {
		return unknownCommand(cmd, args[0])
	}
	return usageErrorf("unexpected argument %q: files are given with -f", args[0])
}

// wrongFlag is the error of flags that cannot be read. Where the command itself is unknown,
// so are its flags: that is what is wrong.
func wrongFlag(cmd *cobra.Command, err error) error {
	if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 {
		return unknownCommand(cmd, args[0])
	}
	return err
}

// unknownCommand says which commands there are, those first that may be meant.
func unknownCommand(cmd *cobra.Command, name string) error {
	var names []string
	for _, command := range cmd.Commands() {
		if command.IsAvailableCommand() {
			names = append(names, command.Name())
		}
	}
	if meant := cmd.SuggestionsFor(name); len(meant) > 0 {
		return usageErrorf("unknown command %q, did you mean %s?", name, strings.Join(meant, " or "))
	}
	return usageErrorf("unknown command %q: there are %s", name, strings.Join(names, ", "))
}

// example indents the text of an example as cobra wants it.
func example(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = "  " + line
		}
	}
	return strings.Join(lines, "\n")
}
