package policy

import (
	"errors"
	"fmt"
	"slices"
)

// Together says whether the programs can run beside each other; the error names
// every pair that cannot.
//
// Names must differ, whatever the namespace: children are found, and fields are
// managed, by the name of the policy. And an owner can be served by one policy
// only, because its conditions (Ready, Permitted, ...) can say one thing only: two
// policies for one kind need namespaces or label selectors that differ.
func Together(programs []*Program) error {
	var errs []error
	for i, p := range programs {
		for _, q := range programs[:i] {
			switch {
			case p.Name == q.Name:
				errs = append(errs, fmt.Errorf("policy %q of %s has the name of a policy of %s", p.Name, p.File, q.File))
			case p.meets(q):
				errs = append(errs, fmt.Errorf("policies %q of %s and %q of %s both serve %s in the same namespaces: an owner has one status; give them different namespaces or owner selectors",
					q.Name, q.File, p.Name, p.File, p.Owner.GVK.GroupKind()))
			}
		}
	}
	return errors.Join(errs...)
}

// meets says whether two policies may serve the same owner. Selectors that differ
// are taken to select different owners.
func (p *Program) meets(q *Program) bool {
	if p.Owner.GVK.GroupKind() != q.Owner.GVK.GroupKind() || p.Suspend || q.Suspend {
		return false
	}
	a, b := p.Owner.LabelSelector, q.Owner.LabelSelector
	return (a == b || a == "" || b == "") && p.shareNamespace(q)
}

func (p *Program) shareNamespace(q *Program) bool {
	switch {
	case len(p.Namespaces) == 0 && len(q.Namespaces) == 0:
		return true
	case len(p.Namespaces) == 0:
		return q.shareNamespace(p)
	}
	return slices.ContainsFunc(p.Namespaces, func(n string) bool {
		return !slices.Contains(p.Exclude, n) && !slices.Contains(q.Exclude, n) &&
			(len(q.Namespaces) == 0 || slices.Contains(q.Namespaces, n))
	})
}
