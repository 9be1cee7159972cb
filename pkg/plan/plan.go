package plan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/internal/timing"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/plan/madevalues"
	"github.com/ambit-dev/ambit/pkg/plan/ownerstatus"
)

// Plan is what to do for one owner.
type Plan struct {
	// Actions may be carried out in this order or in any other: none needs the
	// result of another.
	Actions []Action
	// Status holds the fields of the owner's status that the policy's template
	// sets, without conditions. Owned by the receiver. Nil if there is no template
	// or nothing is to be written.
	Status map[string]any
	// Conditions are Ambit's own and the policy's, sorted by type, with
	// ObservedGeneration and without LastTransitionTime. Nil means that nothing is
	// to be written to the status: the owner is being deleted, or the policy is
	// suspended.
	Conditions []metav1.Condition
	// Partial is true while an input is still to come: Status is then nil, and
	// Conditions holds only Ambit's own. What the policy said of the owner before
	// is to stay.
	Partial bool
	// RequeueAfter is when to look at the owner again if nothing happens; 0: not
	// at all.
	RequeueAfter time.Duration
	// Wake is the instant at which an answer changes that an expression was given about the time, so that
	// the owner is to be planned for again; nil: none changes by itself.
	Wake *Wake
	// Expire: the owner itself is to be deleted, by its uid. There is nothing else to do then.
	Expire bool
	// Children says how each child fares, in the program's order; of a child with
	// forEach each object, in the order of the elements.
	Children []ChildState
	// Queries are the places where children are, were or are to be, as far as they are
	// known now, sorted by child and namespace. Whoever makes snapshots observes them
	// and plans again.
	Queries []Query
	// OwnerMetadata is what the owner's metadata has to say; nil: it says so. Actions that need
	// it are in a plan only after it holds.
	OwnerMetadata *OwnerMetadata
	// Done: of an owner that is deleted or retired nothing is left to do; OwnerMetadata is nil,
	// and the finalizer is gone.
	Done bool
	// Former are those of Snapshot.Former that are to be looked at again: something is left of
	// them, or that cannot be seen.
	Former []schema.GroupVersionKind
	// Foreign is the policy whose record is on the owner, if it is another one. The plan
	// is then empty but for Conditions and Blockers, which say so. Both policies may take
	// the owner for theirs, so Conditions are not to be written again and again.
	Foreign string
	// Blockers are all that keeps the owner from being ready, the most important
	// first; nil for none. They are there also where Conditions are not.
	Blockers []Problem
}

// Wake is an instant at which a plan changes, and why.
type Wake = timing.Wake

// OwnerMetadata is what an owner's metadata has to say.
type OwnerMetadata = inventory.OwnerMetadata

// State says how a child fares.
type State string

// The states of children.
const (
	// Ready: it exists as the policy describes it, and is ready.
	Ready State = "Ready"
	// NotReady: it is being made or changed, or exists and is not ready yet.
	NotReady State = "NotReady"
	// Waiting: a child that it reads is not ready.
	Waiting State = "Waiting"
	// Blocked: something has to change before it can be made or kept.
	Blocked State = "Blocked"
	// Absent: it is not wanted and not there.
	Absent State = "Absent"
	// Deleting: it is there and on its way out.
	Deleting State = "Deleting"
)

// ChildState says how one child fares.
type ChildState struct {
	ID string
	// Name is the name of the object; empty while it is not known. Namespace is empty
	// as well then, and for kinds without.
	Name, Namespace string
	State           State
	// Reason is one of v1alpha1.Reason*, or empty for Ready and Absent.
	Reason string
	// Message says what the child waits for, or what blocks it. Conditions have none of a child that is Ready.
	Message string
	// Desired is the object as the policy wants it, the same as in the child's
	// action if it has one; nil while it cannot be rendered or is not wanted. Plans share parts of it:
	// below other keys than metadata it is not to be changed.
	Desired *unstructured.Unstructured
	// Make are the values that are made for the object; nil for none.
	Make *madevalues.Request
	// Dropped is what expressions gave for the object's metadata, and only Ambit sets, as
	// in `label ambit.dev/policy`; nil for nothing. It is left out, and blocks nothing.
	Dropped []string
}

// Stalled returns a partial plan without actions that says of the owner only that
// it is stalled, beside what this plan says of its permissions. The controller writes
// it when the API server refuses the status that this plan has.
func (p *Plan) Stalled(reason, message string) *Plan {
	return &Plan{Partial: true, Conditions: ownerstatus.StallConditions(p.Conditions, reason, message), RequeueAfter: p.RequeueAfter, Children: p.Children}
}
