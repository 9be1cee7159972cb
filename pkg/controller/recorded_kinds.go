package controller

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kindSet is a set of kinds.
type kindSet map[schema.GroupVersionKind]bool

// releaseKinds has kinds no longer looked up that no policy, and no owner, needs.
func (e *Controller) releaseKinds(gone []schema.GroupVersionKind) {
	ended := e.discovery.ReleaseUnneeded(gone, func() (list []schema.GroupVersionKind) {
		for _, op := range e.revisions.AllRevisions() {
			list = append(list, op.kinds.AllKinds()...)
		}
		return list
	})
	if ended {
		e.crdWatcher.checkSoon(false) // perhaps nothing is missing any more
	}
}

// seekKind notes that the reconcile is about to look up a kind for one object. It returns false
// if that is not to be for now.
func (p *ownerReconciler) seekKind(gvk schema.GroupVersionKind) bool {
	p.soughtKinds[gvk] = true
	return p.kinds.RetainKind(p.state.subscriber.name, gvk)
}

// releaseUnusedKinds has kinds no longer looked up that the reconcile has not needed.
func (p *ownerReconciler) releaseUnusedKinds() {
	p.kinds.ReleaseKinds(p.state.subscriber.name, func(gvk schema.GroupVersionKind) bool {
		return p.state.inputs.HasLookedUp(gvk) || p.soughtKinds[gvk]
	})
}
