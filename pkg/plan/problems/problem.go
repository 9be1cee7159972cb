// Package problems has what stands in the way of an owner: single problems, and the set of
// all. The most important one gives the owner's conditions their reason.
package problems

import (
	"cmp"
	"slices"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// Problem is something that stands in the way.
type Problem struct {
	// Reason is one of v1alpha1.Reason*. Required.
	Reason string
	// Message names what blocks, for users.
	Message string
	// Terminal is true if waiting will not mend it: somebody has to act.
	Terminal bool
	// Gone: the kind is served in no version, so that there is no object of it.
	Gone bool
	// Denied are the accesses that were refused, if that is the problem.
	Denied []v1alpha1.DeniedAccess
}

// IsDenied reports whether access was refused, or an identity is not accepted.
func (p Problem) IsDenied() bool {
	switch p.Reason {
	case v1alpha1.ReasonForbidden, v1alpha1.ReasonUnauthenticated,
		v1alpha1.ReasonImpersonationRefused, v1alpha1.ReasonServiceAccountMissing:
		return true
	}
	return len(p.Denied) > 0
}

// IsEvaluation reports whether the problem is an expression without a result.
func (p Problem) IsEvaluation() bool {
	return p.Reason == v1alpha1.ReasonExpressionFailed || p.Reason == v1alpha1.ReasonLimitExceeded
}

// orderOfImportance orders problems: the lower, the more important.
func (p Problem) orderOfImportance() int {
	switch {
	case p.IsDenied():
		return 1
	case p.Reason == v1alpha1.ReasonKindMissing:
		return 2
	case p.Reason == v1alpha1.ReasonChildFailed: // which may be for want of what the others name
		return 2
	case p.Terminal:
		return 0
	case p.Reason == v1alpha1.ReasonProgressing || p.Reason == v1alpha1.ReasonDeleting:
		return 4
	}
	return 3
}

// DeniedAccesses returns the accesses that were refused in a list of problems, sorted, each
// once: what is said of one is that of the first problem that has it.
func DeniedAccesses(list []Problem) []v1alpha1.DeniedAccess {
	var denied []v1alpha1.DeniedAccess
	for _, p := range list {
		denied = append(denied, p.Denied...)
	}
	slices.SortStableFunc(denied, compareDenied)
	return slices.CompactFunc(denied, func(a, b v1alpha1.DeniedAccess) bool { return compareDenied(a, b) == 0 })
}

func compareDenied(a, b v1alpha1.DeniedAccess) int {
	return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name), v1alpha1.CompareVerbs(a.Verb, b.Verb))
}
