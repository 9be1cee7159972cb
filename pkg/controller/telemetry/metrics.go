package telemetry

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/internal/apply"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// Metrics is told what a controller does, for metrics. Its methods are called by many
// workers at once, and return at once. Nothing of what they are told is about one
// object.
type Metrics interface {
	// ObserveReconcile is told of each reconcile over an owner that was worked on.
	ObserveReconcile(ReconcileSample)
	// ObserveWrite is told of each write for a child, after its answer.
	ObserveWrite(WriteSample)
	// ObserveLatency is told of each wait that has ended.
	ObserveLatency(LatencySample)
}

// ReconcileSample is one run over one owner.
type ReconcileSample struct {
	// Policy is the namespace of the policy, if it has one, and its name, joined by a slash.
	Policy string
	// Result is one of Result*.
	Result string
	// Took is how long it was worked on.
	Took time.Duration
	// Steps is what the plans have cost, in steps of CEL: about the number of parts of
	// expressions that were evaluated, and of values that functions looked at.
	Steps int64
}

// What a reconcile comes to.
const (
	// ResultReady: all is as the policy says.
	ResultReady = "ready"
	// ResultProgressing: something is still to come.
	ResultProgressing = "progressing"
	// ResultStalled: somebody has to act.
	ResultStalled = "stalled"
	// ResultWaiting: the reconcile has ended before it could say, as the first list of a
	// stream, or a review of permissions, is still to come.
	ResultWaiting = "waiting"
	// ResultError: a fault of Ambit or of the machine; the reconcile is repeated.
	ResultError = "error"
)

// WriteSample is one write for a child.
type WriteSample struct {
	// Policy is as in ReconcileSample.
	Policy   string
	Resource schema.GroupResource
	// Outcome is one of Outcome*.
	Outcome string
}

// How a write ends.
const (
	// OutcomeCreated: there is a new object.
	OutcomeCreated = "created"
	// OutcomeUpdated: the object has changed, or was taken over.
	OutcomeUpdated = "updated"
	// OutcomeUnchanged: it was sent, and has changed nothing. Without somebody who
	// undoes what Ambit does, or another view of the object, there are none.
	OutcomeUnchanged = "unchanged"
	// OutcomeRefused: the API server did not take it.
	OutcomeRefused = "refused"
	// OutcomePruned: the object was deleted, or its deletion began.
	OutcomePruned = "pruned"
)

// LatencySample is a wait that has ended.
type LatencySample struct {
	// Policy is as in ReconcileSample.
	Policy string
	// For is one of For*.
	For string
	// Took is how long it took.
	Took time.Duration
}

// What is waited for.
const (
	// ForWrite: from an event that concerns an owner to the answer of the first write
	// of the reconcile that it led to.
	ForWrite = "write"
	// ForRights: from the reconcile that found rights to be missing for an owner to the end
	// of the one that had all of them.
	ForRights = "rights"
)

// OutcomeOf says how a write for a child has ended.
func OutcomeOf(action plan.Action, outcome apply.Outcome) string {
	switch {
	case outcome.Problem != nil:
		return OutcomeRefused
	case outcome.Stale || outcome.Met:
		return OutcomeUnchanged
	case action.Verb == plan.Delete:
		return OutcomePruned
	case action.Verb == plan.Create && !outcome.Adopted:
		return OutcomeCreated
	case outcome.Object != nil && outcome.Object.GetResourceVersion() == action.ResourceVersion:
		return OutcomeUnchanged
	}
	return OutcomeUpdated
}
