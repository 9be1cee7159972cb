package ownerreconcile

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/controller/ownerinputs"
	"github.com/ambit-dev/ambit/pkg/controller/recordcheck"
	"github.com/ambit-dev/ambit/pkg/controller/refusedwrites"
	"github.com/ambit-dev/ambit/pkg/controller/writeconflict"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/internal/packed"
	"github.com/ambit-dev/ambit/pkg/internal/status"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// State is what is remembered of one owner, or of what a policy itself ensures, from one reconcile to the
// next. All of it can be lost without harm: that costs at most a few repeated requests. It belongs to who
// reconciles the owner. Create it with NewState.
type State struct {
	name    types.NamespacedName
	handler informer.EventHandler
	// releasedUID is of an owner that went when its finalizer was removed: the cache may still show it.
	releasedUID types.UID
	inputs      *ownerinputs.Inputs
	// queries are the places that the last plan wanted, beyond those that are known for sure.
	queries []plan.Query
	// ownershipToken is random text for the record of an owner that has none.
	ownershipToken string
	// existing is that of a reconcile that waits for a stream, for the one that goes on with it.
	existing []existingObject
	// loggedProblem is what was logged last to stand in the way, and loggedDropped what was to be left
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
	// feedback is about writes of a status that the policy reads; nil: there were none.
	feedback *writeconflict.Feedback
	// conflicts are the writes of children that others may undo.
	conflicts writeconflict.Children
	former    []schema.GroupVersionKind // see plan.Snapshot.Former
	// stale is the owner as it was seen, if the API server has said that it has changed since.
	stale writeconflict.StaleVersion
	// reads are of objects of the record, and metadata of the writes of it and the finalizer; nil: there were
	// none.
	reads    recordcheck.Reads
	metadata *writeconflict.Metadata
	// refused are writes that the API server refused, by the key of the problem.
	refused refusedwrites.Writes
}

// NewState returns the state of an owner that nothing is known of. handler is told of the changes of its
// children and watches.
func NewState(name types.NamespacedName, handler informer.EventHandler) State {
	return State{name: name, handler: handler, serverNormalized: map[types.UID]string{}}
}

// SetFormer notes which kinds earlier versions of the policy may have made beside the owner: see
// plan.Snapshot.Former.
func (s *State) SetFormer(kinds []schema.GroupVersionKind) { s.former = kinds }

// Reset forgets what is about an object, for another owner of its name. What holds for the name stays: the
// streams that are open, the token, and what was refused a short while ago, which is tried again in its time.
func (s *State) Reset(former []schema.GroupVersionKind) {
	s.status, s.statusConflict, s.feedback, s.conflicts, s.other = writtenStatus{}, writeconflict.Backoff{}, nil, writeconflict.Children{}, otherPolicy{}
	s.reads, s.metadata = recordcheck.Reads{}, nil
	s.former = former
}

// IsReleased reports whether an owner went when its finalizer was removed: its event is to come.
func (s *State) IsReleased(uid types.UID) bool { return s.releasedUID == uid }

// ReleaseInputs gives back the streams that the owner needs.
func (s *State) ReleaseInputs(informers Informers) {
	informers.Require(s.handler, nil)
	s.inputs = nil
}

// writtenStatus remembers what the owner's status was to be and what the API server kept of
// it, which may be less (a schema without some of its fields): so that it is not written again
// at each reconcile, and that it is seen when somebody else overwrites it. Both are as of the last
// write, or the last reconcile since that found nothing to write; of nil: there was none. They stay for as long
// as nothing happens to the owner, and are seldom read: so they are packed.
type writtenStatus struct {
	wanted, kept packed.Map
}

func newWrittenStatus(wanted, kept map[string]any) writtenStatus {
	if status.Equal(wanted, kept) {
		return keptAsWanted(kept)
	}
	return writtenStatus{wanted: packed.PackMap(wanted, nil), kept: packed.PackMap(kept, nil)}
}

func keptAsWanted(kept map[string]any) writtenStatus {
	both := packed.PackMap(kept, nil)
	return writtenStatus{wanted: both, kept: both}
}

// isUnchanged says whether writing next over old was done before, to no effect.
func (s writtenStatus) isUnchanged(old, next map[string]any) bool {
	wanted := s.wanted.UnpackMap(nil)
	return wanted != nil && status.SaysSame(s.kept.UnpackMap(nil), old) && status.SaysSame(wanted, next)
}
