package controller

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// allNamespaces is the namespace of a cluster-wide stream.
const allNamespaces = ""

// scope returns the namespaces in which a policy's owners are watched, sorted:
// those that both the policy and the process are limited to, without the
// excluded ones. Where neither is limited it is one cluster-wide stream, and the
// excluded namespaces are left out as their events come in.
//
// A selector of namespaces counts for nothing here: only what is named.
func scope(program *policy.Program, limit []string) []string {
	namespaces := scopeOf(program.Namespaces, limit)
	if len(program.Namespaces) == 0 && len(limit) == 0 {
		return []string{allNamespaces}
	}
	namespaces = slices.DeleteFunc(namespaces, func(n string) bool { return slices.Contains(program.Exclude, n) })
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}

// scopeOf returns the names that two lists have in common, of which an empty one is no
// limit.
func scopeOf(named, limit []string) []string {
	if len(named) == 0 {
		return slices.Clone(limit)
	}
	namespaces := slices.Clone(named)
	if len(limit) > 0 {
		namespaces = slices.DeleteFunc(namespaces, func(n string) bool { return !slices.Contains(limit, n) })
	}
	return namespaces
}

// scopeProblem is the problem of a policy that can have no owners, whatever there is: what it
// is limited to and what the process is limited to have no namespace in common. It is nil if
// they have, and where labels of namespaces decide.
func scopeProblem(program *policy.Program, limit []string) *plan.Problem {
	if program.NamespaceSelector != nil || len(scope(program, limit)) > 0 {
		return nil
	}
	where := "everywhere"
	if len(program.Namespaces) > 0 {
		where = "in " + listText(program.Namespaces)
	}
	if len(program.Exclude) > 0 {
		where += " but not in " + listText(program.Exclude)
	}
	if len(limit) > 0 {
		where += ", and Ambit is limited to " + listText(limit) + " by --namespaces"
	}
	return &plan.Problem{Reason: v1alpha1.ReasonOutOfScope, Terminal: true, Message: "nothing is served: the policy looks for owners " + where}
}

// listText names namespaces, not more than are read.
func listText(namespaces []string) string {
	names := slices.Compact(slices.Sorted(slices.Values(namespaces)))
	var quoted []string
	for _, name := range names[:min(len(names), maxNamed)] {
		quoted = append(quoted, fmt.Sprintf("%q", name))
	}
	if more := len(names) - maxNamed; more > 0 {
		quoted = append(quoted, fmt.Sprintf("%d more", more))
	}
	return strings.Join(quoted, ", ")
}
