package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/problems"
)

// Location is a place in which the objects of a child are looked for.
type Location struct {
	// Child is the id of a child, or of an ensured object. For objects that no child
	// of the program has any more it is a text that is no id, and that says nothing
	// but which place of a Query is meant.
	Child string
	// Namespace is empty for kinds without namespaces.
	Namespace string
}

// Snapshot is what is known about one owner and its surroundings at one moment.
// The planner changes nothing in it, and a plan shares no object with it but
// leaf values.
type Snapshot struct {
	// Owner may be projected to the fields that the program reads, and metadata.
	// Required for Make; nil for Ensure.
	Owner *unstructured.Unstructured
	// Namespaced says of the kinds of children whether their objects live in
	// namespaces. A kind that is not there is not known yet, or not served:
	// Children[Location{id, ""}] may say why in its Blocked.
	Namespaced map[schema.GroupVersionKind]bool
	// Children holds, by place, the observed objects of the child's kind there that
	// carry the policy's and the owner's labels, or more; for a Query with Names,
	// those of the named objects that exist. Places of one kind may share one Input.
	// A place that is wanted and not there counts as not observed yet.
	Children map[Location]Input
	// Watches holds, by watch id, the candidates of that watch. The planner applies
	// the exact selector and the filter, and sorts by namespace and name. A watch
	// without an Input counts as not observed yet.
	Watches map[string]Input
	// Now is the time of which expressions ask, and as of which made values are valid, in whole seconds: what is below is left out. The plan is
	// the same for each time from this one until its Wake. Zero: it is not known, and what asks fails.
	Now time.Time
	// Retire: the policy does not want this owner any more, because it no longer
	// matches, is out of the scope, or the policy itself goes. All that is ours is
	// removed as onDelete says, also what garbage collection would take.
	Retire bool
	// OtherStays: the other policy whose record is on the owner was given the time to clean up,
	// and does not.
	OtherStays bool
	// Claim is a fresh random text of at least 16 characters, for the record of an
	// owner that has none. What needs a record waits as long as it is empty.
	Claim string
	// Former are kinds that earlier versions of the policy may have made for this owner, and
	// that the program does not: see FormerKinds. What is left of them beside the owner is
	// removed. May be nil.
	Former []schema.GroupVersionKind
	// Problems says, by Action.Key, how this pass's write ended if it did not
	// succeed. No action with that key is planned, and the problem is reported. Under
	// KeyOwner it is the same for Plan.OwnerMetadata. Other keys are reported as they are. May
	// be nil.
	Problems map[string]Problem
	// Standing are problems that hold whatever is written: rights that are missing.
	// They are reported, and hold nothing back: what is permitted goes on.
	Standing []Problem
	// ServerNormalized holds, by the uid of a child, the digest of a difference that is
	// known to stay whatever is applied, because the API server changes the value
	// back: what NormalizedDigest says. Such a difference is no action. May be nil.
	ServerNormalized map[types.UID]string
	// Lives reports whether there is, or may be, an owner of that uid, as long as the plan is
	// made. What an owner of the policy has left behind that does not may be adopted. Nil:
	// nobody knows.
	Lives func(owner types.UID) bool
	// Unmanaged: the objects are not as the API server has them, but from files, in which
	// managedFields are mostly left out. The claim on an object without any then counts by
	// itself.
	Unmanaged bool
}

// KeyOwner is the key in Snapshot.Problems of the owner's metadata, and KeyExpire that of its deletion:
// with a problem the owner is not expired.
const (
	KeyOwner  = "owner"
	KeyExpire = "expire"
)

// Problem is something that stands in the way.
type Problem = problems.Problem

// Input is a set of observed objects, in any order.
type Input struct {
	// Objects are shared with the cache and are not changed.
	Objects []*unstructured.Unstructured
	// Blocked is nil if Objects is complete. Otherwise it says why it is not, and
	// nothing may be concluded from what is absent.
	Blocked *Problem
}

// inputOf returns the candidates of a watch or a place; one that is not in the
// snapshot is not observed yet.
func inputOf[K comparable](inputs map[K]Input, key K, id string) Input {
	if in, ok := inputs[key]; ok {
		return in
	}
	return Input{Blocked: &Problem{Reason: v1alpha1.ReasonSyncing, Message: "waiting for the first list of " + id}}
}
