package controller

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/ownerreconcile"
	"github.com/ambit-dev/ambit/pkg/controller/ownerviews"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// ownerState is what the controller remembers of one owner between reconciles. All of
// it can be lost without harm: a restart costs at most a few repeated requests.
// It belongs to the worker that has the owner's key; the queue gives a key to
// one worker at a time; but for what mu of the policy controller guards.
type ownerState struct {
	ownerreconcile.State
	rightsMissingSince time.Time // since when rights are missing for the owner; zero: none are. For metrics.

	// Under mu of the policy controller: newest is the resourceVersion that the owner had last,
	// olderSince since when a view shows an older one (zero: it does not), and health how the owner is.
	newest     string
	olderSince time.Time
	health     ownerHealth
}

// ownerSubscriber queues one owner, or without a name the policy itself, when something it needs has changed. It is
// comparable: equal values are the same subscriber.
type ownerSubscriber struct {
	operator *policyController
	key      Key
}

var _ informer.EventHandler = ownerSubscriber{}

func (op *policyController) subscriberFor(name types.NamespacedName) ownerSubscriber {
	return ownerSubscriber{operator: op, key: Key{Policy: op.id, Namespace: name.Namespace, Name: name.Name}}
}

// Changed implements informer.EventHandler.
func (s ownerSubscriber) Changed(event informer.Event) {
	if event.Object == nil {
		s.operator.checkEvent(event)
	}
	s.operator.controller.enqueueKey(s.key)
}

// formerOf are the kinds that older versions may have made beside an owner: none if it is
// younger than this version.
func (t ownerTurn) formerOf(owner *unstructured.Unstructured) []schema.GroupVersionKind {
	if len(t.formerKinds) == 0 || owner.GetCreationTimestamp().After(t.revisedAt) {
		return nil
	}
	return t.formerKinds
}

// ownerStateOf returns what is remembered of an owner that was read from a view; made if there is
// nothing yet. False: the view was given up in between, and who did so did
// not know of this owner.
func (t ownerTurn) ownerStateOf(name types.NamespacedName, owner *unstructured.Unstructured, from ownerviews.View) (*ownerState, bool) {
	uid := owner.GetUID()
	t.mu.Lock()
	defer t.mu.Unlock()
	state, before := t.owners.WorkOf(name)
	switch {
	case state == nil && t.ownerViews.ViewOf(name.Namespace) != from:
		return nil, false
	case state == nil:
		state = t.newOwnerState(name)
		state.SetFormer(t.formerOf(owner))
	case before != uid: // another owner of that name
		t.reconciles.LostWrites.ForgetOwner(before)
		state.Reset(t.formerOf(owner))
	}
	state.newest = owner.GetResourceVersion()
	t.owners.StartWork(name, uid, state)
	return state, true
}

// probeRetry is after how long it is looked again at what a probe waits for, if no event comes before.
const probeRetry = 30 * time.Second

// olderGrace is how long an older view of an owner is waited for. It is long for a stream
// that is behind, and short for a cluster whose resourceVersions began anew, which is what
// one restored from a backup may do.
const olderGrace = 10 * time.Second

// waitForNewer returns how long to wait because a view shows an owner as it was before the
// last reconcile: the streams have changed over, and the new one is behind the one before. What
// was done since would be undone, and done again; its event is to come. 0: go on.
func (t ownerTurn) waitForNewer(name types.NamespacedName, owner *unstructured.Unstructured) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	state, uid := t.owners.WorkOf(name)
	if state == nil || owner == nil || uid != owner.GetUID() {
		return 0
	}
	now := t.controller.currentTime()
	switch order, err := resourceversion.CompareResourceVersion(owner.GetResourceVersion(), state.newest); {
	case err != nil || order >= 0:
		state.olderSince = time.Time{}
	case state.olderSince.IsZero():
		state.olderSince = now
		return olderGrace
	case now.Before(state.olderSince.Add(olderGrace)):
		return state.olderSince.Add(olderGrace).Sub(now)
	}
	return 0
}

func (op *policyController) newOwnerState(name types.NamespacedName) *ownerState {
	return &ownerState{State: ownerreconcile.NewState(name, op.subscriberFor(name))}
}

// isHeld says whether an owner is held until this policy has cleaned up after it.
func (t ownerTurn) isHeld(owner *unstructured.Unstructured) bool {
	return slices.Contains(owner.GetFinalizers(), v1alpha1.FinalizerCleanup) && inventory.IsMarked(t.program.Label, owner)
}

// forgetOwner gives back all that an owner needed. It is called on the owner's turn, or
// when there are no turns any more.
func (op *policyController) forgetOwner(name types.NamespacedName) {
	op.mu.Lock()
	_, uid := op.owners.WorkOf(name)
	was := op.owners.StopWork(name, op.ownerViews.IsSeen(name.Namespace), op.isHalted)
	delete(op.cleanupBlockers, name)
	op.quarantine.RecordSuccess(name)
	op.costs.ForgetOwner(name)
	if was.Last {
		op.ownerViews.ForgetScans(name.Namespace)
	}
	op.mu.Unlock()
	if !op.revision.IsReplaced() { // else the next one goes on with the owner
		op.reconciles.LostWrites.ForgetOwner(uid)
		op.controller.wakes.RemoveWake(op.subscriberFor(name).key)
	}
	if was.Inspected {
		op.stopInspection(name)
	}
	op.stopOwnerProbe(name)
	op.kinds.ReleaseAllKinds(name)
	if was.Worked {
		op.controller.options.Informers.Require(op.subscriberFor(name), nil)
		op.permissions.SetUses(name, nil)
	}
	if was.Last {
		op.permissions.ReleaseOwners(name.Namespace)
	}
	if was.Last || was.Inherited {
		op.recheckScope(name.Namespace)
	}
}

// recheckScope has the policy look again at where it watches, if a namespace that it no longer
// wants has only been watched for the sake of owners that were there.
func (op *policyController) recheckScope(namespace string) {
	if !op.inScope(namespace) {
		op.controller.enqueueKey(Key{Policy: op.id})
	}
}
