// Package ownerscope says in which namespaces a policy may have owners: what its document names,
// excludes and selects by labels, within what the process is limited to. It does no I/O and starts no
// goroutine.
//
// What is named is known from the beginning. What a selector selects is known from the first list of
// namespaces on (SetListed); until then a policy has the owners in those that it names beside the
// selector.
//
// It does not know where owners may be watched, which is a matter of rights, nor of owners in no
// namespace: those of a cluster-scoped kind are in every scope, but for Namespaces (SelectsOwners).
package ownerscope

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// everywhere is the namespace that stands for all of them together.
const everywhere = ""

// maxNamed is how many namespaces a message names.
const maxNamed = 20

// Scope is where one revision of a policy may have owners. It is made by New, and safe for concurrent
// use.
type Scope struct {
	program *policy.Program
	limit   []string
	// selected are the namespaces that the selector selects, sorted; nil while they are not
	// known.
	selected atomic.Pointer[[]string]
}

// New returns the scope of a program, in a process that is limited to these namespaces; none: it is not
// limited. Neither argument is changed any more.
func New(program *policy.Program, limit []string) *Scope {
	return &Scope{program: program, limit: limit}
}

// NamedNamespaces returns the namespaces in which owners are watched, sorted:
// those that both the policy and the process are limited to, without the
// excluded ones. Where neither is limited it is one cluster-wide stream, and the
// excluded namespaces are left out as their events come in.
//
// A selector of namespaces counts for nothing here: only what is named.
func (s *Scope) NamedNamespaces() []string {
	if len(s.program.Namespaces) == 0 && len(s.limit) == 0 {
		return []string{everywhere}
	}
	namespaces := s.withoutExcluded(s.commonNames())
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}

// HasNames reports whether there are namespaces that the policy, the process, or both of them name.
func (s *Scope) HasNames() bool { return len(s.commonNames()) > 0 }

// HasSelector reports whether labels of namespaces decide.
func (s *Scope) HasSelector() bool { return s.program.NamespaceSelector != nil }

// IsLimited reports whether the scope has only some namespaces.
func (s *Scope) IsLimited() bool { return s.HasSelector() || s.HasNames() }

// SelectsOwners reports whether the owners are Namespaces: the scope then selects the owners
// themselves.
func (s *Scope) SelectsOwners() bool {
	gvk := s.program.Owner.GVK
	return gvk.Group == "" && gvk.Kind == "Namespace"
}

// SelectsNamespace reports whether the scope has a namespace with these labels.
func (s *Scope) SelectsNamespace(name string, set labels.Set) bool {
	if slices.Contains(s.program.Exclude, name) || len(s.limit) > 0 && !slices.Contains(s.limit, name) {
		return false
	}
	if s.program.NamespaceSelector == nil {
		return len(s.program.Namespaces) == 0 || slices.Contains(s.program.Namespaces, name)
	}
	return slices.Contains(s.program.Namespaces, name) || s.program.NamespaceSelector.Matches(set)
}

// SetListed notes which namespaces there are, selects those of the scope, and returns them, sorted. It
// reports whether they are others than before. It is called by one goroutine at a time.
func (s *Scope) SetListed(listed *Namespaces) (names []string, changed bool) {
	names = s.selectFrom(listed)
	if before := s.selected.Load(); before != nil && slices.Equal(*before, names) {
		return names, false
	}
	s.selected.Store(&names)
	return names, true
}

// SelectedNames returns what SetListed has selected last, as the same pointer while that is the same;
// nil: nothing was listed. It is not to be changed.
func (s *Scope) SelectedNames() *[]string { return s.selected.Load() }

// HasNamespace reports whether owners in a namespace are wanted, as far as is known: while nothing was
// listed a selector selects nothing.
func (s *Scope) HasNamespace(namespace string) bool {
	if slices.Contains(s.program.Exclude, namespace) {
		return false
	}
	selected := s.selected.Load()
	if selected == nil {
		unlimited := s.program.NamespaceSelector == nil && len(s.program.Namespaces) == 0
		return unlimited || slices.Contains(s.program.Namespaces, namespace)
	}
	_, ok := slices.BinarySearch(*selected, namespace)
	return ok
}

// SearchedNamespaces returns the namespaces in which a watch for objects in all namespaces looks, one by
// one: those that are named, or that were selected, or those of the list that the scope has. Selected
// and listed are nil if they are not known; false: nothing is.
func (s *Scope) SearchedNamespaces(selected *[]string, listed *Namespaces) (names []string, known bool) {
	switch {
	case s.HasNames() && s.program.NamespaceSelector == nil:
		return s.withoutExcluded(s.commonNames()), true
	case selected != nil:
		return *selected, true
	case listed != nil:
		return s.selectFrom(listed), true
	}
	return nil, false
}

// selectFrom returns the names of the namespaces that the scope has, sorted.
func (s *Scope) selectFrom(listed *Namespaces) []string {
	return listed.NamesWhere(func(name string) bool { return s.SelectsNamespace(name, (*listed)[name]) })
}

// commonNames returns the names that the policy and the process have in common; one that names none is
// no limit. The caller may change the result.
func (s *Scope) commonNames() []string {
	if len(s.program.Namespaces) == 0 {
		return slices.Clone(s.limit)
	}
	namespaces := slices.Clone(s.program.Namespaces)
	if len(s.limit) > 0 {
		namespaces = slices.DeleteFunc(namespaces, func(n string) bool { return !slices.Contains(s.limit, n) })
	}
	return namespaces
}

// withoutExcluded leaves out of namespaces, which it changes, what the policy excludes.
func (s *Scope) withoutExcluded(namespaces []string) []string {
	return slices.DeleteFunc(namespaces, func(n string) bool { return slices.Contains(s.program.Exclude, n) })
}

// OutOfScope returns the problem of a policy that can have no owners, whatever there is: what it
// is limited to and what the process is limited to have no namespace in common. It is nil if
// they have, and where labels of namespaces decide.
func (s *Scope) OutOfScope() *plan.Problem {
	if s.program.NamespaceSelector != nil || len(s.NamedNamespaces()) > 0 {
		return nil
	}
	where := "everywhere"
	if len(s.program.Namespaces) > 0 {
		where = "in " + listText(s.program.Namespaces)
	}
	if len(s.program.Exclude) > 0 {
		where += " but not in " + listText(s.program.Exclude)
	}
	if len(s.limit) > 0 {
		where += ", and Ambit is limited to " + listText(s.limit) + " by --namespaces"
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

// Namespaces are the namespaces there are, with their labels, by name, until they are gone: in one that is
// being deleted there may be owners that only we let go. It is not changed: another
// list is another pointer.
type Namespaces map[string]labels.Set

// NamesWhere returns the names that keep wants, sorted, never nil.
func (s *Namespaces) NamesWhere(keep func(name string) bool) []string {
	names := []string{}
	for name := range *s {
		if keep(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
