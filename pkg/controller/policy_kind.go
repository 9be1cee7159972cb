package controller

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// kindUnservedProblem is the problem of a policy whose owners are of a kind that is not served, or not
// in the version that it names. Nothing is done until it is: that is noticed by itself.
func (op *policyController) kindUnservedProblem(err error) *plan.Problem {
	p := &plan.Problem{Reason: v1alpha1.ReasonKindMissing, Terminal: true}
	var other *discovery.OtherVersionError
	if errors.As(err, &other) {
		p.Message = other.Error() + ": spec.owner has to name that version"
		return p
	}
	gvk := op.program.Owner.GVK
	p.Message = fmt.Sprintf("the API server does not serve kind %s in %s, which the owners are of: install it, or correct spec.owner", gvk.Kind, gvk.GroupVersion())
	return p
}

// kindMissingProblem is the problem that the kind of the owners has gone while it was watched; nil if
// it has not. A policy that is retired has nothing to clean up then.
func (op *policyController) kindMissingProblem(owner discovery.Resource) *plan.Problem {
	if op.retiring || !op.isKindRemoved(owner) {
		return nil
	}
	return op.kindUnservedProblem(nil)
}

// isKindRemoved says whether a kind that was watched is served no more, in no version.
func (op *policyController) isKindRemoved(owner discovery.Resource) bool {
	for _, view := range op.ownerViews.CurrentViews() {
		if status := view.Status(); status.State == informer.Missing && op.controller.discovery.ConfirmGone(owner.GVR, status.Since) {
			return true
		}
	}
	return false
}

// isKindGone says whether the kind of the owners is known not to be served, in no version.
func (op *policyController) isKindGone() bool {
	owner, ok, err := op.controller.discovery.Lookup(op.program.Owner.GVK)
	return meta.IsNoMatchError(err) || ok && op.isKindRemoved(owner)
}
