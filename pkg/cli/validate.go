package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ambit-dev/ambit/pkg/internal/manifests"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// validateOptions are the flags of `ambit validate`.
type validateOptions struct {
	commandEnv
	// Files are the values of -f.
	Files []string
	// CRDs are the values of --crds.
	CRDs []string
	// Output is "", json or yaml.
	Output string
}

// finding is one mistake as `ambit validate -o json` prints it.
type finding struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

func newValidateCommand(env commandEnv) *cobra.Command {
	o := &validateOptions{commandEnv: env}
	cmd := &cobra.Command{
		Use:   "validate -f FILE|FOLDER [--crds FILE|FOLDER]",
		Short: "Find every mistake in policies, without a cluster",
		Long: `Compile policies and print every mistake as file:line:column, with the line and a
caret, to stdout. Exit code 1 when there is any. Opens no socket.

With the CustomResourceDefinitions of your kinds in --crds, expressions are also
checked for fields that no object of the kind has: ` + "`owner.spec.sise`" + ` is then a
mistake that suggests ` + "`size`" + `. Kinds that are not in it are not checked that way.`,
		Example: indentExample(`
# One policy
ambit validate -f policies/memcached.yaml

# Also the fields of the kind
ambit validate -f policies/memcached.yaml --crds examples/memcached/crd.yaml

# All policies of a folder, for a program
ambit validate -f policies -o json

# What another program writes
kustomize build . | ambit validate -f -`),
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return o.Run() },
	}
	addFilesFlag(cmd.Flags(), &o.Files)
	addCRDsFlag(cmd.Flags(), &o.CRDs)
	addOutputFlag(cmd.Flags(), &o.Output, "json", "yaml")
	return cmd
}

// Run prints the mistakes.
func (o *validateOptions) Run() error {
	found, err := manifests.LoadPolicies(o.Files, o.CRDs, defaultOwnNamespace(), o.Functions, o.In)
	if err != nil {
		return err
	}
	if err := o.printFindings(found.Findings); err != nil {
		return err
	}
	if len(found.Findings) > 0 {
		fmt.Fprintf(o.ErrOut, "%s\n", pluralize(len(found.Findings), "mistake"))
		return errFindings()
	}
	fmt.Fprintf(o.ErrOut, "%s, no mistakes\n", pluralize(len(found.Programs), "policy"))
	return nil
}

func (o *validateOptions) printFindings(findings syntax.Errors) error {
	if o.Output == "" {
		printFindings(o.Out, findings)
		return nil
	}
	list := make([]finding, 0, len(findings))
	for _, f := range findings {
		list = append(list, finding{File: f.File, Line: f.Line, Column: f.Column, Message: f.Message})
	}
	return printData(o.Out, o.Output, map[string]any{"findings": list})
}
