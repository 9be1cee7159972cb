package controller

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/informer"
)

// orphanScan subscribes to all children in the streams of an owner, for as long as it takes
// to read them. It is comparable.
type orphanScan struct{ ownerSubscriber }

var _ informer.EventHandler = orphanScan{}

// scanForOrphans looks once in each run through each stream of children that an owner needs for
// such of owners that are not seen: these may have stopped matching while Ambit was
// away. It opens no stream.
func (p *ownerReconciler) scanForOrphans() {
	if p.owner == nil || p.retiring || !p.isSelective() {
		return
	}
	var all []informer.Interest // of each stream all of it
	for interest, lister := range p.state.inputs.ChildStreams() {
		if interest.IndexLabel != "" && lister.Synced() && p.ownerViews.StartScan(interest.Key) {
			interest.IndexLabel, interest.IndexValue = "", ""
			all = append(all, interest)
		}
	}
	if len(all) == 0 {
		return
	}
	for _, view := range p.controller.options.Informers.Require(orphanScan{p.state.subscriber}, all) {
		for _, child := range view.List() {
			p.checkParent(child)
		}
	}
	p.controller.options.Informers.Require(orphanScan{p.state.subscriber}, nil)
}

// checkParent has the owner of a child looked for, if the stream of owners does not show
// it.
func (op *policyController) checkParent(child *unstructured.Unstructured) {
	ref := metav1.GetControllerOfNoCopy(child)
	if ref == nil || schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind() != op.program.Owner.GVK.GroupKind() {
		return
	}
	name := types.NamespacedName{Namespace: child.GetNamespace(), Name: ref.Name}
	if op.isClusterScoped.Load() {
		name.Namespace = ""
	}
	if owner, _, live := op.ownerViews.ReadOwner(name.Namespace, name.Name); !live || owner != nil {
		return
	}
	op.mu.Lock()
	op.owners.MarkParentMissing(name, ref.UID)
	op.mu.Unlock()
	op.enqueueOwner(name)
}
