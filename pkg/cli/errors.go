package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// The exit codes.
const (
	exitOK       = 0
	exitFindings = 1
	exitUsage    = 2
	exitCluster  = 3
)

// exitError ends the program with a code of its own.
type exitError struct {
	// code is one of the exit codes, not exitOK.
	code int
	// err is printed as `error: ...`; nil: everything was said already.
	err error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usageErrorf returns an error about how the command was called, with what it
// was given.
func usageErrorf(format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// clusterError returns err as an error of the cluster; nil stays nil.
func clusterError(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code: exitCluster, err: err}
}

// errFindings ends the program after findings were printed.
func errFindings() error { return &exitError{code: exitFindings} }

// exitCode returns the exit code for the error of a command, and what is left to
// be said about it, "" if nothing. An error that no command classified is one of usage:
// cobra's about flags, or of package manifests about what is named by them.
func exitCode(err error) (code int, message string) {
	if err == nil {
		return exitOK, ""
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		return exitUsage, err.Error()
	}
	if exit.err == nil {
		return exit.code, ""
	}
	return exit.code, exit.err.Error()
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
