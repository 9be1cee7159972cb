package rbac

import (
	"slices"

	"github.com/ambit-dev/ambit/pkg/policy"
)

// Namespaces returns those that a policy works in, sorted, given that the process
// is limited to some (empty: to none): nothing if the policy's scope and limit
// have none in common. limited is false if neither names any, or the policy's scope has
// more than it names: the policy then works in all but those that it excludes. Where
// labels decide, each namespace of the limit may be one.
func Namespaces(program *policy.Program, limit []string) (namespaces []string, limited bool) {
	scope := program.Namespaces
	if program.NamespaceSelector != nil {
		scope = nil
	}
	if len(scope) == 0 && len(limit) == 0 {
		return nil, false
	}
	namespaces = slices.Clone(scope)
	switch {
	case len(namespaces) == 0:
		namespaces = slices.Clone(limit)
	case len(limit) > 0:
		namespaces = slices.DeleteFunc(namespaces, func(n string) bool { return !slices.Contains(limit, n) })
	}
	namespaces = slices.DeleteFunc(namespaces, func(n string) bool { return slices.Contains(program.Exclude, n) })
	slices.Sort(namespaces)
	return slices.Compact(namespaces), true
}
