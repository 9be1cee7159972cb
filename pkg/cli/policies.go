package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/ambit-dev/ambit/pkg/internal/manifests"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// validPrograms returns the policies for a command that can do nothing with one that has
// mistakes: these are printed to errOut, and end the command.
func validPrograms(found manifests.Policies, errOut io.Writer) ([]*policy.Program, error) {
	printFindings(errOut, found.Findings)
	if len(found.Findings) > 0 {
		return nil, mistakesError(found)
	}
	return found.Programs, nil
}

// runnablePrograms returns the policies for a command that goes on with policies that have
// mistakes, which are printed to errOut. The broken policies that can clean up come last;
// one that could not run beside the others is left out, and errOut told of it.
func runnablePrograms(found manifests.Policies, errOut io.Writer) ([]*policy.Program, error) {
	printFindings(errOut, found.Findings)
	programs := found.Programs
	for _, broken := range found.CleanupOnly {
		with := append(slices.Clone(programs), broken)
		if err := policy.CheckConflicts(with); policy.CheckConflicts(programs) == nil && err != nil {
			fmt.Fprintf(errOut, "policy %q has mistakes, and nothing is cleaned up for it: %v\n", broken.Name, err)
			continue
		}
		fmt.Fprintf(errOut, "policy %q has mistakes: it only cleans up after owners that are deleted\n", broken.Name)
		programs = with
	}
	if len(programs) == 0 {
		return nil, mistakesError(found)
	}
	return programs, nil
}

// loadLegible returns the policies in files for a command that takes those with mistakes as
// far as they can be salvaged; these, and their mistakes, are printed to errOut. about says
// of a policy with mistakes what is done with it; "" for nothing to be said. A policy whose file says no
// namespace is in own, which flag sets: that is printed as well.
func loadLegible(files []string, own, flag string, env commandEnv, about string) ([]*policy.Program, error) {
	found, err := manifests.LoadPolicies(files, nil, own, env.Functions, env.In)
	if err != nil {
		return nil, err
	}
	printFindings(env.ErrOut, found.Findings)
	for _, program := range slices.Concat(found.Programs, found.CleanupOnly) {
		if found.Unplaced[program.Label] {
			fmt.Fprintf(env.ErrOut, "note: policy %q has no metadata.namespace: it is taken for one of namespace %q (%s)\n", program.Name, own, flag)
		}
	}
	if about != "" {
		for _, broken := range found.CleanupOnly {
			fmt.Fprintf(env.ErrOut, "policy %q has mistakes: %s\n", broken.Name, about)
		}
	}
	programs := append(found.Programs, found.CleanupOnly...)
	if len(programs) == 0 {
		return nil, mistakesError(found)
	}
	return programs, nil
}

// mistakesError is the error of a command that can do nothing with what was found.
func mistakesError(found manifests.Policies) error {
	return &exitError{code: exitFindings, err: errors.New(pluralize(len(found.Findings), "mistake") + " in the policies")}
}

// printFindings writes each mistake with its line and a caret.
func printFindings(w io.Writer, findings syntax.Errors) {
	for _, finding := range findings {
		fmt.Fprintln(w, finding.Error())
	}
}
