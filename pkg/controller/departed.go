package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/informer"
)

// finder subscribes to an owner by its name while it is looked for. It is comparable.
type finder struct{ ownerSubscriber }

var _ informer.EventHandler = finder{}

// selection is what the API server selects owners by; empty where all must be seen
// because they may be marked, which may be known only now that the kinds are.
func (op *operator) selection() (labels, fields string) {
	labels, fields = op.program.Owner.LabelSelector, op.program.Owner.FieldSelector
	if labels+fields != "" && op.program.NeedsFinalizerFor(op.isNamespaced) {
		return "", ""
	}
	return labels, fields
}

// isSelective says whether the API server selects the owners. One that stops matching is
// then gone from their stream, just as one that was deleted.
func (op *operator) isSelective() bool {
	byLabels, byFields := op.selection()
	return byLabels != "" || byFields != ""
}

// consider says what there is to do for an owner that the stream of owners shows, or
// does not show (nil); then the result may be the owner all the same. A wait that is
// not 0 says when to look again.
func (op *operator) consider(ctx context.Context, name types.NamespacedName, owner *unstructured.Unstructured) (*unstructured.Unstructured, purpose, time.Duration) {
	if owner != nil {
		op.stopFinding(name)
	}
	why := op.purpose(ctx, name, owner)
	if owner != nil || !op.isSelective() {
		return owner, why, 0
	}
	return op.find(ctx, name)
}

// find looks by name for an owner that is gone from the stream of owners, once: if it is
// there, it is to be retired.
func (op *operator) find(ctx context.Context, name types.NamespacedName) (*unstructured.Unstructured, purpose, time.Duration) {
	op.mu.Lock()
	uid, found, ok := op.owners.MarkMissing(name)
	op.mu.Unlock()
	switch {
	case !ok:
		return nil, leaveAlone, 0
	case found != nil:
		return found, retire, 0
	}
	kind, ok, _ := op.engine.discovery.Lookup(op.program.Owner.GVK)
	if !ok {
		return nil, leaveAlone, syncGraceKnown
	}
	view := op.engine.options.Informers.Require(finder{op.subscriber(name)}, []informer.Interest{op.findNeed(kind, name)})[0]
	objects, status := view.Read()
	if !status.Synced {
		return nil, leaveAlone, syncGraceKnown // its Synced event comes before
	}
	if len(objects) > 0 {
		found = objects[0] // the stream is of one name
	}
	op.engine.options.Informers.Require(finder{op.subscriber(name)}, nil)
	if found == nil || found.GetUID() != uid || found.GetDeletionTimestamp() != nil {
		return nil, leaveAlone, 0 // its children go with it
	}
	wanted, known := op.serves(ctx, found)
	if wanted || !known {
		return nil, leaveAlone, syncGraceKnown // if it is wanted, its Added event comes before
	}
	op.mu.Lock()
	op.owners.RecordFound(name, found)
	op.mu.Unlock()
	return found, retire, 0
}

// findNeed is the stream of one owner, whether it is selected or not.
func (op *operator) findNeed(owner discovery.Resource, name types.NamespacedName) informer.Interest {
	need := op.ownerNeed(owner, name.Namespace)
	need.Key.LabelSelector, need.Key.FieldSelector = "", byName(name.Name)
	return need
}

// stopFinding forgets that an owner was gone, and gives back what the search for it
// needed.
func (op *operator) stopFinding(name types.NamespacedName) {
	op.mu.Lock()
	was := op.owners.MarkVisible(name)
	op.mu.Unlock()
	if was {
		op.engine.options.Informers.Require(finder{op.subscriber(name)}, nil)
	}
}
