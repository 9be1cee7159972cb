package controller

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/ownerinputs"
	"github.com/ambit-dev/ambit/pkg/controller/ownerviews"
	"github.com/ambit-dev/ambit/pkg/controller/recordcheck"
	"github.com/ambit-dev/ambit/pkg/controller/refusedwrites"
	"github.com/ambit-dev/ambit/pkg/controller/writeconflict"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/internal/status"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// ownerState is what the controller remembers of one owner between reconciles. All of
// it can be lost without harm: a restart costs at most a few repeated requests.
// It belongs to the worker that has the owner's key; the queue gives a key to
// one worker at a time; but for fare, which mu of the policy controller guards.
type ownerState struct {
	subscriber  ownerSubscriber
	releasedUID types.UID // of an owner that went when its mark was taken away: the cache may still show it
	// newest is the resourceVersion that the owner had last, and olderSince since when a
	// view shows an older one; zero: it does not. Both under mu of the policy controller.
	newest     string
	olderSince time.Time
	health     ownerHealth
	inputs     *ownerinputs.Inputs
	// queries are the places that the last plan wanted, beyond those that are known for
	// sure.
	queries []plan.Query
	// ownershipToken is random text for the record of an owner that has none.
	ownershipToken string
	// existing is that of a reconcile that waits for a stream, for the one that goes on with it.
	existing []existingObject
	// loggedProblem is what was logged last to stand in the way, and dropped what was to be left
	// out of children.
	loggedProblem *plan.Problem
	loggedDropped string
	failures      int       // reconciles in a row that found the cache behind
	syncing       time.Time // since when a stream has not delivered its first list; zero if all have
	// serverNormalized are digests of differences, by uid of the child, that the API server
	// normalises away: see plan.Snapshot.ServerNormalized.
	serverNormalized map[types.UID]string
	status           writtenStatus
	statusConflict   writeconflict.Backoff
	other            otherPolicy // whose record is on the owner
	// feedback is about writes of a status that the policy reads.
	feedback writeconflict.Feedback
	// conflicts are the writes of children that others may undo.
	conflicts          writeconflict.Children
	former             []schema.GroupVersionKind // see plan.Snapshot.Former
	rightsMissingSince time.Time                 // since when rights are missing for the owner; zero: none are. For metrics.
	// stale is the owner as it was seen, if the API server has said that it has changed since.
	stale writeconflict.StaleVersion
	// reads are of objects of the record, and marks of the writes of it and the finalizer.
	reads recordcheck.Reads
	marks writeconflict.Metadata
	// refused are writes that the API server refused, by the key of the problem.
	refused refusedwrites.Writes
}

// writtenStatus remembers what the owner's status was to be and what the API server kept of
// it, which may be less (a schema without some of its fields): so that it is not written again
// at each reconcile, and that it is seen when somebody else overwrites it. Both are as of the last
// write, or the last reconcile since that found nothing to write; nil: there was none.
type writtenStatus struct {
	wanted, kept map[string]any
}

// isUnchanged says whether writing next over old was done before, to no effect.
func (s writtenStatus) isUnchanged(old, next map[string]any) bool {
	return s.wanted != nil && status.SaysSame(s.kept, old) && status.SaysSame(s.wanted, next)
}

// ownerSubscriber queues one owner when something it needs has changed. It is
// comparable: equal values are the same subscriber.
type ownerSubscriber struct {
	operator *policyController
	name     types.NamespacedName
}

var _ informer.EventHandler = ownerSubscriber{}

// Changed implements informer.EventHandler.
func (s ownerSubscriber) Changed(event informer.Event) {
	s.operator.checkEvent(event)
	s.operator.enqueueOwner(s.name)
}

func (op *policyController) subscriberFor(name types.NamespacedName) ownerSubscriber {
	return ownerSubscriber{operator: op, name: name}
}

// formerOf are the kinds that older versions may have made beside an owner: none if it is
// younger than this version.
func (op *policyController) formerOf(owner *unstructured.Unstructured) []schema.GroupVersionKind {
	if len(op.formerKinds) == 0 || owner.GetCreationTimestamp().After(op.revisedAt) {
		return nil
	}
	return op.formerKinds
}

// ownerStateOf returns what is remembered of an owner that was read from a view; made if there is
// nothing yet. False: the view was given up in between, and who did so did
// not know of this owner.
func (op *policyController) ownerStateOf(name types.NamespacedName, owner *unstructured.Unstructured, from ownerviews.View) (*ownerState, bool) {
	uid := owner.GetUID()
	op.mu.Lock()
	defer op.mu.Unlock()
	state, before := op.owners.WorkOf(name)
	switch {
	case state == nil && op.ownerViews.ViewOf(name.Namespace) != from:
		return nil, false
	case state == nil:
		state = newOwnerState(op.subscriberFor(name))
		state.former = op.formerOf(owner)
	case before != uid: // another owner of that name
		op.lostWrites.ForgetOwner(before)
		state.status, state.statusConflict, state.feedback, state.conflicts, state.other = writtenStatus{}, writeconflict.Backoff{}, writeconflict.Feedback{}, writeconflict.Children{}, otherPolicy{}
		state.reads, state.marks = recordcheck.Reads{}, writeconflict.Metadata{}
		state.former = op.formerOf(owner)
	}
	state.newest = owner.GetResourceVersion()
	op.owners.StartWork(name, uid, state)
	return state, true
}

// olderGrace is how long an older view of an owner is waited for. It is long for a stream
// that is behind, and short for a cluster whose resourceVersions began anew, which is what
// one restored from a backup may do.
const olderGrace = 10 * time.Second

// waitForNewer returns how long to wait because a view shows an owner as it was before the
// last reconcile: the streams have changed over, and the new one is behind the one before. What
// was done since would be undone, and done again; its event is to come. 0: go on.
func (op *policyController) waitForNewer(name types.NamespacedName, owner *unstructured.Unstructured) time.Duration {
	op.mu.Lock()
	defer op.mu.Unlock()
	state, uid := op.owners.WorkOf(name)
	if state == nil || owner == nil || uid != owner.GetUID() {
		return 0
	}
	now := op.controller.now()
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

func newOwnerState(subscriber ownerSubscriber) *ownerState {
	return &ownerState{subscriber: subscriber, serverNormalized: map[types.UID]string{}}
}

// isHeld says whether an owner is held until this policy has cleaned up after it.
func (op *policyController) isHeld(owner *unstructured.Unstructured) bool {
	return hasFinalizer(owner) && inventory.IsMarked(op.program.Name, owner)
}

func hasFinalizer(owner *unstructured.Unstructured) bool {
	return slices.Contains(owner.GetFinalizers(), v1alpha1.FinalizerCleanup)
}
