package controller

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/controller/ownerinputs"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/plan/claims"
)

// childProbe subscribes to the children of an owner that is not wanted while it is looked
// at whether there are some. It is comparable.
type childProbe struct{ ownerSubscriber }

var _ informer.EventHandler = childProbe{}

// inspectChildren looks whether there are children of an owner that is not wanted. They can only
// be such as an ownerReference ties to it, in its own place: of others there is a record.
// The streams are given back when the answer is there. Nothing is said of rights that are
// missing for it; with others it is looked at again. The result is when to look again;
// 0: not at all.
func (t ownerTurn) inspectChildren(ctx context.Context, name types.NamespacedName, owner *unstructured.Unstructured) time.Duration {
	probe := t.inputs.PlanProbe(ctx, ownerinputs.Subject{Name: name, Owner: owner})
	if probe.Wait > 0 {
		return probe.Wait
	}
	if probe.Blind != nil && t.isBlind(name, probe.Blind) {
		return 0
	}
	ours := false
	for _, view := range t.controller.options.Informers.Require(childProbe{t.subscriberFor(name)}, probe.Interests) {
		objects, status := view.Read()
		if !status.Synced && !status.State.IsFinal() {
			return probeRetry // its Synced event comes before
		}
		ours = ours || slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool { return claims.IsControlled(o, owner.GetUID()) })
	}
	if probe.Blind != nil && !ours {
		t.recordBlind(name, owner.GetUID(), probe.Blind)
		return 0
	}
	t.recordInspection(name, owner.GetUID(), ours)
	return 0
}

// isBlind says whether it was looked with these rights before.
func (t ownerTurn) isBlind(name types.NamespacedName, with *permissionset.Set) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.owners.IsBlindWith(name, with)
}

// recordBlind notes that not everything could be looked at. The streams are given back, but
// not the place: when something else may be done there the owner is queued.
func (t ownerTurn) recordBlind(name types.NamespacedName, uid types.UID, with *permissionset.Set) {
	t.mu.Lock()
	t.owners.RecordBlind(name, uid, with)
	t.mu.Unlock()
	t.controller.options.Informers.Require(childProbe{t.subscriberFor(name)}, nil)
}

// recordInspection notes what was found, and gives back what it took.
func (t ownerTurn) recordInspection(name types.NamespacedName, uid types.UID, ours bool) {
	t.mu.Lock()
	t.owners.RecordInspection(name, uid, ours)
	t.mu.Unlock()
	t.stopInspection(name)
	if ours {
		t.enqueueOwner(name)
	}
}

func (op *policyController) stopInspection(name types.NamespacedName) {
	op.controller.options.Informers.Require(childProbe{op.subscriberFor(name)}, nil)
	op.permissions.SetUses(name, nil)
}
