package cli

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// testOptions are the flags of `ambit test`.
type testOptions struct {
	commandEnv
	// Folders are the arguments: where cases are looked for.
	Folders []string
	// Update: the expected files are written, not compared.
	Update bool
	// Filter is a regular expression for the names of cases; "" for all.
	Filter string
	// Output is "", json or yaml.
	Output string
}

func newTestCommand(env commandEnv) *cobra.Command {
	o := &testOptions{commandEnv: env}
	cmd := &cobra.Command{
		Use:   "test FOLDER... [--update]",
		Short: "Run the golden tests of policies, without a cluster",
		Long: `Compare what policies come to with what is expected. Opens no socket.

A folder at or below FOLDER that holds an owner.yaml is a case. In it are

  owner.yaml       the owner, as for ` + "`ambit render --owner`" + `
  observed.yaml    what is in the cluster, as for ` + "`ambit render --observed`" + `;
  observed/        a file, a folder or both; may be missing
  plan.txt         expected: the actions with their reasons and objects, and how each
                   child fares, as ` + "`ambit render -o plan`" + ` has it
  status.yaml      expected: the status of the owner, without times

The policy is that of the nearest folder, from the case's own up to FOLDER, with

  policy.yaml      one or more policies; the one for the owner's kind is taken
  test.yaml        or a file that says where they are, relative to itself:
                     policy: ../../policies/x.yaml   # file or folder; default policy.yaml
                     crds: [../crd.yaml]             # files or folders, optional: as
                                                     # --crds of ` + "`ambit validate`" + `
                     now: 2026-11-27T03:00:00Z       # the time of which the policy asks;
                                                     # must be there if it does
                     later: [2026-11-28T03:00:00Z]   # more times: plan.txt has the plan
                                                     # at each, if nothing was done

A test.yaml in the folder of a case may have the times alone.

A difference is shown as a unified diff: lines with - are expected, lines with + are
what came of it. Exit code 1 when a case fails; 2 when there is none, or when one
cannot be read.`,
		Example: indentExample(`
# All cases
ambit test policies/tests

# After a change: write what is expected anew, and review the difference
ambit test policies/tests --update && git diff policies/tests

# Some of them, for a program
ambit test policies/tests --run memcached/ -o json`),
		Args: func(_ *cobra.Command, args []string) error { return needFolders(args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Folders = args
			return o.Run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.Update, "update", false, "Write plan.txt and status.yaml of each case instead of comparing them")
	flags.StringVar(&o.Filter, "run", "", "Regular expression: only cases whose name matches it")
	addOutputFlag(flags, &o.Output, "json", "yaml")
	return cmd
}

func needFolders(args []string) error {
	if len(args) == 0 {
		return usageErrorf("no folder with tests was given: ambit test FOLDER")
	}
	return nil
}

// Run runs the cases, in the order of their names.
func (o *testOptions) Run(ctx context.Context) error {
	wanted, err := regexp.Compile(o.Filter)
	if err != nil {
		return usageErrorf("--run: %w", err)
	}
	cases, err := findCases(o.Folders, wanted)
	if err != nil {
		return err
	}
	policies := policyCache{functions: o.Functions, known: map[string]cachedPolicies{}}
	outcomes := make([]outcome, 0, len(cases))
	for _, c := range cases {
		outcomes = append(outcomes, o.playCase(ctx, c, policies))
		o.printOutcome(outcomes[len(outcomes)-1])
	}
	if o.Output != "" {
		if err := printData(o.Out, o.Output, map[string]any{"cases": outcomes}); err != nil {
			return err
		}
	}
	return o.concludeTests(outcomes)
}

// printOutcome writes one line of a case, and what is different below it.
func (o *testOptions) printOutcome(each outcome) {
	if each.Result == unreadable {
		fmt.Fprintf(o.ErrOut, "error: %s: %s\n", each.Case, strings.ReplaceAll(strings.TrimSpace(each.Message), "\n", "\n  "))
	}
	if o.Output != "" {
		return
	}
	switch each.Result {
	case passed:
		fmt.Fprintf(o.Out, "ok  %s\n", each.Case)
	case updated:
		fmt.Fprintf(o.Out, "updated  %s\n", each.Case)
	default:
		fmt.Fprintf(o.Out, "FAIL %s\n%s", each.Case, each.Diff)
	}
}

// concludeTests writes the summary, and returns the error that the outcomes make.
func (o *testOptions) concludeTests(outcomes []outcome) error {
	counts := map[verdict]int{}
	for _, each := range outcomes {
		counts[each.Result]++
	}
	switch {
	case counts[unreadable] > 0:
		return &exitError{code: exitUsage, err: fmt.Errorf("%d of %s cannot be read", counts[unreadable], pluralize(len(outcomes), "case"))}
	case counts[failed] > 0:
		fmt.Fprintf(o.ErrOut, "%d of %s failed: --update writes what is expected anew\n", counts[failed], pluralize(len(outcomes), "case"))
		return errFindings()
	case o.Update:
		fmt.Fprintf(o.ErrOut, "%s, %d of them changed\n", pluralize(len(outcomes), "case"), counts[updated])
	default:
		fmt.Fprintf(o.ErrOut, "%s, all as expected\n", pluralize(len(outcomes), "case"))
	}
	return nil
}
