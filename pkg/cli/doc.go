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
