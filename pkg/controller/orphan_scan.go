package controller

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/controller/ownerinputs"
	"github.com/ambit-dev/ambit/pkg/informer"
)

// orphanScan subscribes to all children in the streams of an owner, for as long as it takes
// to read them. It is comparable.
type orphanScan struct{ ownerSubscriber }

var _ informer.EventHandler = orphanScan{}

// scanForOrphans looks once in each run through each stream of children that an owner needs for
// such of owners that are not seen: these may have stopped matching while Ambit was
// away. It opens no stream.
func (t ownerTurn) scanForOrphans(name types.NamespacedName, inputs *ownerinputs.Inputs) {
	if t.retiring || !t.isSelective() {
		return
	}
	var all []informer.Interest // of each stream all of it
	for interest, lister := range inputs.ChildStreams() {
		if interest.IndexLabel != "" && lister.Synced() && t.ownerViews.StartScan(interest.Key) {
			interest.IndexLabel, interest.IndexValue = "", ""
			all = append(all, interest)
		}
	}
	if len(all) == 0 {
		return
	}
	scan := orphanScan{t.subscriberFor(name)}
	for _, view := range t.controller.options.Informers.Require(scan, all) {
		for _, child := range view.List() {
			t.checkParent(child)
		}
	}
	t.controller.options.Informers.Require(scan, nil)
}

// checkParent has the owner of a child looked for, if the stream of owners does not show
// it.
func (t ownerTurn) checkParent(child *unstructured.Unstructured) {
	ref := metav1.GetControllerOfNoCopy(child)
	if ref == nil || schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind() != t.program.Owner.GVK.GroupKind() {
		return
	}
	name := types.NamespacedName{Namespace: child.GetNamespace(), Name: ref.Name}
	if t.isClusterScoped.Load() {
		name.Namespace = ""
	}
	if owner, _, live := t.ownerViews.ReadOwner(name.Namespace, name.Name); !live || owner != nil {
		return
	}
	t.mu.Lock()
	t.owners.MarkParentMissing(name, ref.UID)
	t.mu.Unlock()
	t.enqueueOwner(name)
}
