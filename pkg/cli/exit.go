package cli

import (
	"errors"
	"fmt"
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
// be said about it, "" if nothing. An error that no command classified comes
// from cobra: an unknown command or flag, a flag that is missing.
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
