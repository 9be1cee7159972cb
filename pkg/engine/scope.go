package engine

import (
	"slices"

	"github.com/ambit-dev/ambit/pkg/policy"
)

// allNamespaces is the namespace of a cluster-wide stream.
const allNamespaces = ""

// scope returns the namespaces in which a policy's owners are watched, sorted:
// those that both the policy and the process are limited to, without the
// excluded ones. Where neither is limited it is one cluster-wide stream, and the
// excluded namespaces are left out as their events come in.
func scope(program *policy.Program, limit []string) []string {
	namespaces := slices.Clone(program.Namespaces)
	if len(namespaces) == 0 {
		namespaces = slices.Clone(limit)
	} else if len(limit) > 0 {
		namespaces = slices.DeleteFunc(namespaces, func(n string) bool { return !slices.Contains(limit, n) })
	}
	if len(program.Namespaces) == 0 && len(limit) == 0 {
		return []string{allNamespaces}
	}
	namespaces = slices.DeleteFunc(namespaces, func(n string) bool { return slices.Contains(program.Exclude, n) })
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}
