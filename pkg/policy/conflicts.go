package policy

import (
	"errors"
	"fmt"
	"slices"
)

// CheckConflicts says whether the programs can run beside each other; the error names
// every pair that cannot.
//
// No two may have one namespace and name: children are found, and fields are
// managed, by these. And an owner can be served by one policy
// only, because its conditions (Ready, Permitted, ...) and its record of children can
// say one thing only: two policies for one kind need namespaces or label selectors that
// differ. An owner may go from one to the other: its record names the policy that has to
// clean up first. Policies that write nothing on their owners can share them. Those with
// Retire are not run, and share owners with everybody.
func CheckConflicts(programs []*Program) error {
	var errs []error
	for i, p := range programs {
		for _, q := range programs[:i] {
			switch {
			case p.Label == q.Label:
				errs = append(errs, fmt.Errorf("policy %q of %s has the name of a policy of %s", p.Name, p.File, q.File))
			case p.Retire || q.Retire:
			case p.OverlapsWith(q):
				errs = append(errs, fmt.Errorf("policies %q of %s and %q of %s both serve %s in the same namespaces: an owner has one status; give them different namespaces or owner selectors",
					q.Name, q.File, p.Name, p.File, p.Owner.GVK.GroupKind()))
			}
		}
	}
	return errors.Join(errs...)
}

// CheckRemoval says whether policies can be cleaned up after while others run. They may have
// owners in common: what each has made has its namespace and name. Two with the same of these can not.
func CheckRemoval(programs, leaving []*Program) error {
	var errs []error
	for i, p := range leaving {
		for _, q := range slices.Concat(programs, leaving[:i]) {
			if p.Label == q.Label {
				errs = append(errs, fmt.Errorf("policy %q of %s cannot be cleaned up after beside the one of that name of %s", p.Name, p.File, q.File))
			}
		}
	}
	return errors.Join(errs...)
}

// OverlapsWith says whether two policies may serve the same owner. Selectors that differ
// are taken to select different owners.
func (p *Program) OverlapsWith(q *Program) bool {
	if p.Owner.GVK.GroupKind() != q.Owner.GVK.GroupKind() || p.Suspend || q.Suspend || p.isQuiet() && q.isQuiet() {
		return false
	}
	a, b := p.Owner.selectorText(), q.Owner.selectorText()
	return (a == b || a == "" || b == "") && p.shareNamespace(q)
}

// isQuiet says whether the policy writes nothing on its owners.
func (p *Program) isQuiet() bool { return p.Owner.SkipStatus && !p.NeedsFinalizer() }

func (o Owner) selectorText() string {
	if o.Selector == nil {
		return ""
	}
	return o.Selector.String()
}

// shareNamespace says whether both look at a namespace by its name, or one of them
// at all. Those that one selects by labels are taken to be none of the other's.
func (p *Program) shareNamespace(q *Program) bool {
	switch {
	case p.isEverywhere() && q.isEverywhere():
		return true
	case p.NamespaceSelector != nil && q.NamespaceSelector != nil && p.NamespaceSelector.String() == q.NamespaceSelector.String():
		return true
	case p.isEverywhere():
		return q.shareNamespace(p)
	case q.isEverywhere() && p.NamespaceSelector != nil:
		return true
	}
	return slices.ContainsFunc(p.Namespaces, func(n string) bool {
		return !slices.Contains(p.Exclude, n) && !slices.Contains(q.Exclude, n) &&
			(q.isEverywhere() || slices.Contains(q.Namespaces, n))
	})
}

// isEverywhere says whether the policy looks at all namespaces that are not excluded.
func (p *Program) isEverywhere() bool { return len(p.Namespaces) == 0 && p.NamespaceSelector == nil }
