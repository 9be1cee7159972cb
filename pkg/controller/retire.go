package controller

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// CleanupBlocker is something that is in the way of cleaning up after an owner.
type CleanupBlocker struct {
	// Policy is as in Denial.
	Policy          string
	Namespace, Name string
	// Reason is one of v1alpha1.Reason*, Message says what would have to change.
	Reason, Message string
}

// CleanupBlockers returns what is in the way of cleaning up after owners, sorted by policy,
// namespace and name, the most important of each first.
func (e *Controller) CleanupBlockers() []CleanupBlocker {
	var list []CleanupBlocker
	for _, op := range e.revisions.AllCurrent() {
		op.mu.Lock()
		for name, problems := range op.cleanupBlockers {
			for _, problem := range problems {
				list = append(list, CleanupBlocker{Policy: op.id, Namespace: name.Namespace, Name: name.Name, Reason: problem.Reason, Message: problem.Message})
			}
		}
		op.mu.Unlock()
	}
	slices.SortStableFunc(list, func(a, b CleanupBlocker) int {
		return cmp.Or(cmp.Compare(a.Policy, b.Policy), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// Retired says of the policies that are retired how many owners and policies have
// something left to clean up, as far as they are seen by now, and whether all is done.
// What cannot be seen, for want of a right or of a first list, is not done.
func (e *Controller) Retired() (left int, done bool) {
	done = true
	for _, op := range e.revisions.AllCurrent() {
		if !op.retiring {
			continue
		}
		n, all := e.countRetired(op)
		left, done = left+n, done && all
	}
	return left, done
}

// RetiredOf is Retired for one policy by its id, as in Key.Policy. One that is not
// retired is not done.
func (e *Controller) RetiredOf(policy string) (left int, done bool) {
	op := e.revisions.CurrentOf(policy)
	if op == nil || !op.retiring {
		return 0, false
	}
	return e.countRetired(op)
}

// countRetired is Retired for one policy. As long as a worker is in an older version of it,
// that may still make something.
func (e *Controller) countRetired(op *policyController) (left int, done bool) {
	busy := e.revisions.IsBusy(op.id)
	left, complete := policyReport{op}.leftToRetire()
	return left, !busy && complete && left == 0
}

// leftToRetire says how much is left to clean up, and whether all of it is seen.
func (r policyReport) leftToRetire() (left int, complete bool) {
	if r.isKindGone() {
		return r.ensuredLeft(), true // no kind, no owners
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	left, complete = r.ownerViews.CountOwners(func(owner *unstructured.Unstructured) bool { return !r.owners.IsCleanedUp(owner.GetUID()) })
	complete = complete && r.currentProblem == nil
	if !r.isEnsured && len(r.program.Ensured) > 0 {
		left++
	}
	// Of those that older versions worked on some may be gone from the stream of owners,
	// and be there: each is looked at.
	counts := r.owners.CountOwners()
	return left, complete && counts.Inherited == 0 && counts.Missing == 0
}

func (r policyReport) ensuredLeft() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isEnsured || len(r.program.Ensured) == 0 {
		return 0
	}
	return 1
}
