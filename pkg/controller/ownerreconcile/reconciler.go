package ownerreconcile

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/fairqueue"
	"github.com/ambit-dev/ambit/pkg/controller/ownerinputs"
	"github.com/ambit-dev/ambit/pkg/controller/placepermissions"
	"github.com/ambit-dev/ambit/pkg/controller/policykinds"
	"github.com/ambit-dev/ambit/pkg/controller/recordcheck"
	"github.com/ambit-dev/ambit/pkg/controller/telemetry"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/internal/apply"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// Options is what is the same for all owners of one policy. It does not change once there is a Reconciler.
// All functions have to be safe for concurrent use. Recorder may be nil; all else is required.
type Options struct {
	Program *policy.Program
	// Manager is the policy's field manager, and User who it acts as, for messages.
	Manager, User string
	// Client returns the client that writes as the policy does.
	Client    func() (dynamic.Interface, error)
	Informers Informers
	// Owners is the handler of the streams of owners, which is told nothing of own writes.
	Owners      informer.EventHandler
	Kinds       *policykinds.Kinds
	Inputs      *ownerinputs.Planner
	Permissions *placepermissions.Tracker
	// LostWrites are shared by all revisions of the policy.
	LostWrites *recordcheck.LostWrites
	// Turns are those of owners that have many objects of their records read.
	Turns *fairqueue.Throttle
	// Recorder makes Events where MayMakeEvents, of the owner's namespace, says so. Nil: there are none.
	Recorder      Recorder
	MayMakeEvents func(namespace string) bool
	// OwnerKey returns the stream that shows the owners of a namespace.
	OwnerKey func(kind discovery.Resource, namespace string) informer.Key
	// OwnerExists reports whether there is, or may be, an owner of that uid.
	OwnerExists func(types.UID) bool
	// SharesStreams reports whether the owners of a namespace share streams: see ownerinputs.Subject.
	SharesStreams func(namespace string) bool
	// IsSpread reports whether the policy has owners in many namespaces: see ownerinputs.Subject.
	IsSpread func() bool
	// IsRetired reports whether a policy of that label is being retired by the same controller.
	IsRetired func(policy string) bool
	// RecordEvaluation is told when expressions over an owner were evaluated, from a time until now.
	RecordEvaluation func(owner types.NamespacedName, began time.Time)
	// Backoff is how long to wait after so many failures before the last one.
	Backoff func(failures int) time.Duration
	Now     func() time.Time
	// Random returns a text of 128 random bits or more.
	Random func() string
}

// Informers is what is used of an informer.Set.
type Informers interface {
	ownerinputs.Informers
	Observe(key informer.Key, obj *unstructured.Unstructured, by ...informer.EventHandler)
	DecoderFor(key informer.Key) func(data []byte) (*unstructured.Unstructured, error)
	ObserveDecoded(key informer.Key, object *unstructured.Unstructured, by ...informer.EventHandler)
	Deleted(key informer.Key, obj *unstructured.Unstructured, by ...informer.EventHandler)
	HoldEvents(key informer.Key, name types.NamespacedName, handler informer.EventHandler) (release func(resourceVersion string))
}

// allNamespaces is the namespace of a cluster-wide stream.
const allNamespaces = ""

// Reconciler is one run over one owner, or over what the policy itself ensures. Create it with New. It
// belongs to one goroutine.
type Reconciler struct {
	*Options
	owner *unstructured.Unstructured // nil for what is ensured
	state *State
	// retire: the policy does not want the owner any more.
	retire bool
	// problems are the writes that are refused now, by plan.Snapshot.Problems' keys.
	problems map[string]plan.Problem
	// awaitsTurn are keys of problems that are due to be tried again, and were not: that waits for something
	// else, which says when.
	awaitsTurn   map[string]bool
	triedActions map[string]bool // actions of this reconcile
	// isRefusalUnconfirmed: a write was refused for want of a right, and a review is to confirm
	// it before anything is said.
	isRefusalUnconfirmed bool
	existing             []existingObject
	// answers are about objects that this reconcile has made, removed, or read because of the record.
	answers       recordcheck.Answers
	verifiedAt    time.Time // when a write was sent whose answer was the owner as it is; zero: none was
	isCacheBehind bool      // an answer showed that the cache is behind
	waits         bool      // the owner's metadata is held back, and requeueTime, or what is told, says until when
	isPaced       bool      // there was more to read by name than may be read in a row
	requeueTime   time.Time // when to look at what was held back, or is not over; zero: there is nothing
	// measured is the reconcile for metrics and traces.
	measured *telemetry.Reconcile
	// lastPlan is the plan that the reconcile came to; nil: to none.
	lastPlan   *plan.Plan
	drafted    time.Duration // what the last plan took so far, and was not told yet
	isReleased bool          // the owner was let go: nothing more is to be said of it
	// soughtKinds are kinds that were looked up for single objects.
	soughtKinds map[schema.GroupVersionKind]bool
}

// New begins a run over an owner; nil: over what the policy itself ensures. retire: the policy does not
// want the owner any more. The state is that of the run before.
func New(o *Options, owner *unstructured.Unstructured, state *State, retire bool, measured *telemetry.Reconcile) *Reconciler {
	before := state.existing
	state.existing = nil
	for i := range before {
		before[i].before = true
	}
	return &Reconciler{
		Options: o, owner: owner, state: state, retire: retire, existing: before, measured: measured,
		problems: map[string]plan.Problem{}, awaitsTurn: map[string]bool{}, triedActions: map[string]bool{}, soughtKinds: map[schema.GroupVersionKind]bool{},
	}
}

// IsRefusalUnconfirmed reports whether a write was refused for want of a right, so that nothing is to be
// said before a review has confirmed it: after placepermissions.ConfirmGrace at the latest.
func (p *Reconciler) IsRefusalUnconfirmed() bool { return p.isRefusalUnconfirmed }

// IsReleased reports whether the owner is gone, because nothing holds it any more: there is no status to
// write.
func (p *Reconciler) IsReleased() bool { return p.isReleased }

// CurrentOwner is the owner as it was seen, or written, last.
func (p *Reconciler) CurrentOwner() *unstructured.Unstructured { return p.owner }

// CurrentInputs are the streams that the owner needs; nil: there are none yet.
func (p *Reconciler) CurrentInputs() *ownerinputs.Inputs { return p.state.inputs }

// LastPlan is the plan that the run came to, as the status says it; nil: to none.
func (p *Reconciler) LastPlan() *plan.Plan { return p.lastPlan }

// RecordPlan takes note of the plan that PlanAndWrite returned, which is not nil, and gives back what it
// showed to be of no use.
func (p *Reconciler) RecordPlan(ctx context.Context, planned *plan.Plan) {
	p.lastPlan = planned
	p.releaseUnusedKinds()
	p.logDropped(ctx, planned)
	p.recordOtherPolicy(planned)
}

// requeueAt has the owner looked at again at a time, if nothing happens before. Zero: it need not be.
func (p *Reconciler) requeueAt(at time.Time) {
	if !at.IsZero() && (p.requeueTime.IsZero() || at.Before(p.requeueTime)) {
		p.requeueTime = at
	}
}

// RequeueAfter says when to look at the owner again if nothing happens.
func (p *Reconciler) RequeueAfter(planned *plan.Plan) time.Duration {
	var wait time.Duration
	sooner := func(d time.Duration) {
		if d > 0 && (wait == 0 || d < wait) {
			wait = d
		}
	}
	sooner(planned.RequeueAfter)
	now := p.Now()
	for key := range p.problems {
		if at, isRefused := p.state.refused.NextTry(key); isRefused && !p.awaitsTurn[key] {
			sooner(max(at.Sub(now), time.Millisecond))
		}
	}
	if !p.requeueTime.IsZero() {
		sooner(max(p.requeueTime.Sub(now), time.Millisecond))
	}
	switch {
	case p.isCacheBehind:
	case p.isPaced: // as much was found out as may be: it goes on as before
		return wait
	default:
		p.state.failures = 0
		return wait
	}
	sooner(p.Backoff(p.state.failures))
	p.state.failures++
	return wait
}

// ownerUID is empty for what the policy itself ensures.
func (p *Reconciler) ownerUID() types.UID {
	if p.owner == nil {
		return ""
	}
	return p.owner.GetUID()
}

// ownerNamespace is empty for what the policy itself ensures.
func (p *Reconciler) ownerNamespace() string {
	if p.owner == nil {
		return ""
	}
	return p.owner.GetNamespace()
}

// newApplier returns who writes for the policy.
func (p *Reconciler) newApplier() (apply.Applier, error) {
	client, err := p.Client()
	return apply.Applier{Client: client, Manager: p.Manager, Identity: p.User, Now: p.Now, Random: rand.Reader}, err
}

// recordStaleOwner notes that the owner has changed since it was seen.
func (p *Reconciler) recordStaleOwner() {
	p.isCacheBehind = true
	p.state.stale.RecordConflict(p.owner.GetResourceVersion(), p.Backoff, p.Now())
}

// ownerKey is the stream that shows the owner.
func (p *Reconciler) ownerKey(kind discovery.Resource) informer.Key {
	return p.OwnerKey(kind, p.owner.GetNamespace())
}

// ownerKind is how the owner's kind is served.
func (p *Reconciler) ownerKind() (discovery.Resource, bool, error) {
	return p.Kinds.LookupKind(p.Program.Owner.GVK)
}

// seekKind notes that the reconcile is about to look up a kind for one object. It returns false
// if that is not to be for now.
func (p *Reconciler) seekKind(gvk schema.GroupVersionKind) bool {
	p.soughtKinds[gvk] = true
	return p.Kinds.RetainKind(p.state.name, gvk)
}

// releaseUnusedKinds has kinds no longer looked up that the reconcile has not needed.
func (p *Reconciler) releaseUnusedKinds() {
	p.Kinds.ReleaseKinds(p.state.name, func(gvk schema.GroupVersionKind) bool {
		return p.state.inputs.HasLookedUp(gvk) || p.soughtKinds[gvk]
	})
}

// Recorder makes Events, as client-go's events.EventRecorder does. It does not block.
type Recorder interface {
	Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any)
}

// maxEvent bounds the note of an Event: the API takes 1 KiB.
const maxEvent = 1000

// makeEvent makes a warning of the owner, where Events may be made. It is for what changes rarely: a
// transition, not a state.
func (p *Reconciler) makeEvent(reason, message string) {
	if p.Recorder == nil || p.owner == nil || !p.MayMakeEvents(p.owner.GetNamespace()) {
		return
	}
	if len(message) > maxEvent {
		message = strings.ToValidUTF8(message[:maxEvent-3], "") + "..."
	}
	owner := &corev1.ObjectReference{
		APIVersion: p.owner.GetAPIVersion(), Kind: p.owner.GetKind(), Namespace: p.owner.GetNamespace(),
		Name: p.owner.GetName(), UID: p.owner.GetUID(), ResourceVersion: p.owner.GetResourceVersion(),
	}
	p.Recorder.Eventf(owner, nil, corev1.EventTypeWarning, reason, "Reconcile", "%s", message)
}
