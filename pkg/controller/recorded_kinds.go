package controller

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/recordedkinds"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// kindSet is a set of kinds.
type kindSet map[schema.GroupVersionKind]bool

// retainKind notes that an owner needs a kind. It is called before the kind is looked up: see
// package discovery. It returns false if the kind is not to be looked up for now.
func (op *policyController) retainKind(owner types.NamespacedName, gvk schema.GroupVersionKind) bool {
	if op.namedKinds[gvk] {
		return true
	}
	gone, ok := op.recordedKinds.AddKind(owner, gvk, op.controller.isAnswered)
	op.controller.releaseKinds(gone)
	return ok
}

// kindFor is kindOf for an owner.
func (op *policyController) kindFor(owner types.NamespacedName, gvk schema.GroupVersionKind) (discovery.Resource, *plan.Problem) {
	if !op.retainKind(owner, gvk) {
		return discovery.Resource{}, tooManyKinds()
	}
	return op.resolveKind(gvk)
}

// tooManyKinds is the problem of an owner whose record names more unknown kinds than are
// looked up at a time.
func tooManyKinds() *plan.Problem {
	return limitProblem(fmt.Sprintf(
		"the annotation %s names more kinds that the policy does not have than are looked up at a time: %d for an owner, %d for the policy; the rest waits until there is an answer",
		v1alpha1.AnnotationChildren, recordedkinds.OwnerLimit, recordedkinds.PolicyLimit))
}

// releaseKinds has kinds no longer looked up that only this owner needed, and does not any more.
func (op *policyController) releaseKinds(owner types.NamespacedName, still func(schema.GroupVersionKind) bool) {
	op.controller.releaseKinds(op.recordedKinds.RetainKinds(owner, still))
}

// releaseAllKinds is releaseKinds for an owner that needs nothing.
func (op *policyController) releaseAllKinds(owner types.NamespacedName) {
	op.releaseKinds(owner, func(schema.GroupVersionKind) bool { return false })
}

// releaseKinds has kinds no longer looked up that no policy, and no owner, needs.
func (e *Controller) releaseKinds(gone []schema.GroupVersionKind) {
	ended := e.discovery.ReleaseUnneeded(gone, func() (list []schema.GroupVersionKind) {
		for _, op := range e.revisions.AllRevisions() {
			list = append(append(list, op.kindsOf()...), op.recordedKinds.AllKinds()...)
		}
		return list
	})
	if ended {
		e.crdWatcher.checkSoon(false) // perhaps nothing is missing any more
	}
}

// isAnswered reports whether it is known how a kind is served, or that it is not.
func (e *Controller) isAnswered(gvk schema.GroupVersionKind) bool {
	_, known, err := e.discovery.LookupKnown(gvk)
	return known || discovery.IsUnserved(err)
}

// seekKind notes that the reconcile is about to look up a kind for one object. It returns false
// if that is not to be for now.
func (p *ownerReconciler) seekKind(gvk schema.GroupVersionKind) bool {
	p.soughtKinds[gvk] = true
	return p.retainKind(p.state.subscriber.name, gvk)
}

// releaseUnusedKinds has kinds no longer looked up that the reconcile has not needed.
func (p *ownerReconciler) releaseUnusedKinds() {
	p.releaseKinds(p.state.subscriber.name, func(gvk schema.GroupVersionKind) bool {
		_, looked := p.state.inputs.kinds[gvk]
		return looked || p.soughtKinds[gvk]
	})
}

// limitProblem is the problem of an owner that names more than it may.
func limitProblem(message string) *plan.Problem {
	return &plan.Problem{Reason: v1alpha1.ReasonLimitExceeded, Terminal: true, Message: message}
}
