package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/ownerinputs"
	"github.com/ambit-dev/ambit/pkg/informer"
)

// ownerProbe subscribes to an owner by its name while it is looked for. It is comparable.
type ownerProbe struct{ ownerSubscriber }

var _ informer.EventHandler = ownerProbe{}

// resolveIntent says what there is to do for an owner that the stream of owners shows, or
// does not show (nil); then the result may be the owner all the same. A wait that is
// not 0 says when to look again.
func (t ownerTurn) resolveIntent(ctx context.Context, name types.NamespacedName, owner *unstructured.Unstructured) (*unstructured.Unstructured, intent, time.Duration) {
	if owner != nil {
		t.stopOwnerProbe(name)
	}
	why := t.intentFor(ctx, name, owner)
	if owner != nil || !t.isSelective() {
		return owner, why, 0
	}
	return t.findDeselected(ctx, name)
}

// findDeselected looks by name for an owner that is gone from the stream of owners, once: if it is
// there, it is to be retired.
func (t ownerTurn) findDeselected(ctx context.Context, name types.NamespacedName) (*unstructured.Unstructured, intent, time.Duration) {
	t.mu.Lock()
	uid, found, ok := t.owners.MarkMissing(name)
	t.mu.Unlock()
	switch {
	case !ok:
		return nil, intentIgnore, 0
	case found != nil:
		return found, intentCleanUp, 0
	}
	kind, ok, _ := t.controller.discovery.LookupKind(t.program.Owner.GVK)
	if !ok {
		return nil, intentIgnore, probeRetry
	}
	view := t.controller.options.Informers.Require(ownerProbe{t.subscriberFor(name)}, []informer.Interest{t.ownerProbeInterest(kind, name)})[0]
	objects, status := view.Read()
	if !status.Synced {
		return nil, intentIgnore, probeRetry // its Synced event comes before
	}
	if len(objects) > 0 {
		found = objects[0] // the stream is of one name
	}
	t.controller.options.Informers.Require(ownerProbe{t.subscriberFor(name)}, nil)
	if found == nil || found.GetUID() != uid || found.GetDeletionTimestamp() != nil {
		return nil, intentIgnore, 0 // its children go with it
	}
	wanted, known := t.isWanted(ctx, found)
	if wanted || !known {
		return nil, intentIgnore, probeRetry // if it is wanted, its Added event comes before
	}
	t.mu.Lock()
	t.owners.RecordFound(name, found)
	t.mu.Unlock()
	return found, intentCleanUp, 0
}

// ownerProbeInterest is the stream of one owner, whether it is selected or not.
func (t ownerTurn) ownerProbeInterest(owner discovery.Resource, name types.NamespacedName) informer.Interest {
	need := t.ownerInterest(owner, name.Namespace)
	need.Key.LabelSelector, need.Key.FieldSelector = "", ownerinputs.ByName(name.Name)
	return need
}

// stopOwnerProbe forgets that an owner was gone, and gives back what the search for it
// needed.
func (op *policyController) stopOwnerProbe(name types.NamespacedName) {
	op.mu.Lock()
	was := op.owners.MarkVisible(name)
	op.mu.Unlock()
	if was {
		op.controller.options.Informers.Require(ownerProbe{op.subscriberFor(name)}, nil)
	}
}
