package plan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// Snapshot is what is known about one owner and its surroundings at one moment.
// The planner changes nothing in it, and a plan shares no object with it but
// leaf values.
type Snapshot struct {
	// Owner may be projected to the fields that the program reads. Required.
	Owner *unstructured.Unstructured
	// Children holds, by child id, the observed objects of that child's kind in the
	// owner's namespace that carry the policy's and the owner's labels, or more.
	// Children of one kind may share one Input. A child without an Input counts as
	// not observed yet.
	Children map[string]Input
	// Watches holds, by watch id, the candidates of that watch. The planner applies
	// the exact selector and the filter, and sorts by namespace and name. A watch
	// without an Input counts as not observed yet.
	Watches map[string]Input
	// Problems says, by child id, how this pass's write for a child ended, if it
	// did not succeed. No action is planned for that child, and the problem is
	// reported. Under Leftover keys it is the same for deletions of what no child
	// wants. Other keys are reported as they are. May be nil.
	Problems map[string]Problem
	// Settled holds, by the uid of a child, the digest of a difference that is
	// known to stay whatever is applied, because the API server changes the value
	// back. Such a difference is no action. May be nil.
	Settled map[types.UID]string
}

// Input is a set of observed objects, in any order.
type Input struct {
	// Objects are shared with the cache and are not changed.
	Objects []*unstructured.Unstructured
	// Blocked is nil if Objects is complete. Otherwise it says why it is not, and
	// nothing may be concluded from what is absent.
	Blocked *Problem
}

// Problem is something that stands in the way.
type Problem struct {
	// Reason is one of v1alpha1.Reason*. Required.
	Reason string
	// Message names what blocks, for users.
	Message string
	// Terminal is true if waiting will not mend it: somebody has to act.
	Terminal bool
	// Denied are the accesses that were refused, if that is the problem.
	Denied []v1alpha1.DeniedAccess
}

// Verb is what an action does.
type Verb string

// The verbs of actions.
const (
	// Create makes an object that does not exist.
	Create Verb = "Create"
	// Apply changes an object that is ours to what the policy wants.
	Apply Verb = "Apply"
	// Delete removes an object that is ours and that no child wants any more.
	Delete Verb = "Delete"
)

// Action is one write on one object.
type Action struct {
	Verb Verb
	// Child is the id of the child that the object is for, or empty for the
	// deletion of an object that no child wants.
	Child     string
	GVK       schema.GroupVersionKind
	Namespace string
	Name      string
	// UID and ResourceVersion are those of the observed object; empty for Create.
	UID             types.UID
	ResourceVersion string
	// Object is the desired object, owned by the receiver; nil for Delete.
	Object *unstructured.Unstructured
	// Migrate is true if the difference is a field that has to be removed and that
	// our entry of operation Update holds: that entry has to become one of
	// operation Apply before a server-side apply can remove the field.
	Migrate bool
	// Reason says why, as in `spec.replicas is 5, want 3`.
	Reason string
	// Digest stands for the difference, for Snapshot.Settled; empty for Create and
	// Delete.
	Digest string
}

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
	// Children says how each child fares, in the program's order.
	Children []ChildState
}

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
	// Name is the name of the object; empty while it is not known.
	Name  string
	State State
	// Reason is one of v1alpha1.Reason*, or empty for Ready and Absent.
	Reason string
	// Message says what the child waits for, or what blocks it.
	Message string
	// Desired is the object as the policy wants it, the same as in the child's
	// action if it has one; nil while it cannot be rendered or is not wanted.
	Desired *unstructured.Unstructured
}

// Leftover is the key in Snapshot.Problems of the deletion of an object that no
// child wants.
func Leftover(kind, name string) string { return kind + "/" + name }
