package ownerreconcile

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/policykinds"
	"github.com/ambit-dev/ambit/pkg/controller/recordcheck"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/internal/apply"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// confirmRecord reads the objects of the entries that a mark drops, or gives a uid: see package
// recordcheck. It returns the mark that may be written; nil: none, now. did: something was learnt that
// the next plan has to know.
//
// An entry that is to be dropped, and whose object is there, is in the way of the whole mark. One whose
// object cannot be read, or whose uid is not confirmed, stays as it is on record, and so do those that are
// too many to be read in one reconcile; then the owner is looked at again.
func (o ownerWriter) confirmRecord(ctx context.Context, mark plan.OwnerMetadata) (may *plan.OwnerMetadata, did bool, err error) {
	objects := &recordObjects{Reconciler: o.Reconciler}
	stay, isThere, err := objects.checkLeads(ctx, mark)
	if err != nil || isThere {
		return nil, true, err
	}
	record, wanted := mark.DoubtfulEntries(o.Program, o.owner)
	check := recordcheck.Check{
		Objects: objects, Reads: &o.state.reads, Answers: &o.answers,
		Turns: o.Turns, Backoff: o.Backoff, Now: o.Now,
	}
	checked, err := check.CheckEntries(ctx, record, wanted)
	did = checked.HasNews || objects.hasNews
	switch {
	case err != nil || checked.IsBlocked:
		return nil, did, err
	case len(checked.Stay)+len(stay) == 0:
		return &mark, false, nil
	}
	o.waits, o.isPaced = !checked.IsFailed, checked.IsPaced
	o.requeueAt(checked.Again)
	if kept, changes := mark.KeepRecorded(o.Program, o.owner, slices.Concat(checked.Stay, stay)); changes {
		return &kept, did, nil
	}
	return nil, did, nil
}

// recordObjects reads the objects of the owner's record for a check of what a mark changes in it.
type recordObjects struct {
	*Reconciler
	hasNews bool // there is a problem that the last plan did not know
}

var _ recordcheck.Objects = &recordObjects{}

// SettledRead implements recordcheck.Objects.
func (o *recordObjects) SettledRead(record inventory.Inventory, e inventory.Entry) recordcheck.Read {
	found, served := o.Kinds.LookupAnyVersion(e.GVK)
	if !served || o.state.inputs.PermissionsAt(e.Namespace).Own.ProblemFor(found.GVR.GroupResource(), "", "get") != nil {
		return nil // the owner is queued when that changes
	}
	return func(ctx context.Context) (recordcheck.Found, bool, error) {
		return o.readWith(ctx, found, findRecorded(record, e), func(problem plan.Problem) bool {
			o.reportUnsettled(ctx, e, found, problem)
			return true
		})
	}
}

// find is one of the ways in which an Applier looks for the object of an entry.
type find func(ctx context.Context, applier apply.Applier, target apply.Target) apply.Outcome

func findRecorded(record inventory.Inventory, e inventory.Entry) find {
	return func(ctx context.Context, applier apply.Applier, target apply.Target) apply.Outcome {
		return applier.FindRecorded(ctx, record, e, target)
	}
}

// readWith looks for an object of a kind. isUnread says of a problem whether the object could not be read
// for it, and tells why; if not, there is none.
func (o *recordObjects) readWith(ctx context.Context, kind discovery.Resource, look find, isUnread func(plan.Problem) bool) (found recordcheck.Found, ok bool, err error) {
	applier, err := o.newApplier()
	if err != nil {
		return found, false, err
	}
	outcome := look(ctx, applier, apply.Target{Resource: kind.GVR, OwnerUID: o.ownerUID(), Lives: o.OwnerExists})
	if outcome.Problem != nil && isUnread(*outcome.Problem) {
		return found, false, nil
	}
	return recordcheck.Found{Object: outcome.Object, IsOwned: outcome.Met, IsLeftBehind: outcome.IsLeftBehind}, true, nil
}

// reportUnsettled logs why an entry stays without a uid, and has a refusal reviewed.
func (o *recordObjects) reportUnsettled(ctx context.Context, e inventory.Entry, found discovery.Resource, problem plan.Problem) {
	if problem.Reason == v1alpha1.ReasonForbidden {
		o.Permissions.ReportDenied(e.Namespace, access.Access{Verb: "get", Group: found.GVR.Group, Resource: found.GVR.Resource, Name: e.Name})
	}
	ctrllog.FromContext(ctx).V(1).Info("the record stays without the uid of a child that cannot be read", "kind", e.GVK.Kind, "namespace", e.Namespace, "object", e.Name, "reason", problem.Reason, "message", problem.Message)
}

// TakeHidden implements recordcheck.Objects.
func (o *recordObjects) TakeHidden(ctx context.Context, e inventory.Entry, object *unstructured.Unstructured) {
	o.existing = append(o.existing, existingObject{kind: e.GVK, object: object, hidden: true})
	ctrllog.FromContext(ctx).Info("found by the record, and not by a stream", "kind", e.GVK.Kind, "namespace", e.Namespace, "object", e.Name, "uid", object.GetUID())
}

// IsHeldBack implements recordcheck.Objects.
func (o *recordObjects) IsHeldBack(e inventory.Entry) bool {
	key := recordKey(e)
	last, isRefused := o.state.refused.LastProblem(key, o.Now())
	if !isRefused {
		return false
	}
	o.addProblem(key, last)
	_, isHeldBack := o.state.refused.CurrentProblem(key, func() string { return key }, o.state.inputs.PermissionsAt(e.Namespace).Answer, o.Now())
	o.awaitsTurn[key] = !isHeldBack // until it is read
	return isHeldBack
}

// DroppedRead implements recordcheck.Objects. If the object cannot be read now, a problem of its own says
// why: the other objects of the record do not wait for it.
func (o *recordObjects) DroppedRead(record inventory.Inventory, e inventory.Entry) (read recordcheck.Read, isGone bool) {
	return o.prepareRead(e, findRecorded(record, e))
}

// checkLeads reads what writes without a final answer may have left, where a mark drops what leads to it.
// It returns what stays on record because that could not be read. isThere: the next plan has to know of
// an object first. What an ownerReference ties to an owner that is deleted goes with it, and needs no lead.
func (o *recordObjects) checkLeads(ctx context.Context, mark plan.OwnerMetadata) (stay []inventory.Entry, isThere bool, err error) {
	if !o.LostWrites.HasLost(o.ownerUID()) {
		return nil, false, nil
	}
	known := o.knownObjects()
	read := map[inventory.ObjectKey]lostState{}
	for _, lead := range mark.DroppedLeads(o.Program, o.owner) {
		if lead.IsPlace() && o.owner.GetDeletionTimestamp() != nil {
			continue
		}
		for _, e := range o.LostWrites.LostUnder(o.ownerUID(), lead) {
			state, isRead := read[e.ObjectKey()]
			if !isRead && (len(read) == recordcheck.BatchSize || o.answers.HasFailed(e.GVK.GroupKind())) {
				state, isRead = lostUnread, true
				o.requeueAt(o.Now().Add(recordcheck.BatchPause)) // what failed is held back by then
			}
			if !isRead {
				if state, err = o.readLost(ctx, e, known); err != nil {
					return nil, false, err
				}
				read[e.ObjectKey()] = state
			}
			if state == lostUnread && !slices.Contains(stay, lead) {
				stay = append(stay, lead)
			}
			isThere = isThere || state == lostThere
		}
	}
	return stay, isThere, nil
}

// lostState is what has become of a write without a final answer.
type lostState int

const (
	lostSettled lostState = iota // nothing of it is there, or the last plan knew of that
	lostThere                    // the next plan is to know
	lostUnread                   // it cannot be read now
)

// readLost finds out what has become of such a write. known are objects that plans were told of.
func (o *recordObjects) readLost(ctx context.Context, e inventory.Entry, known map[types.UID]bool) (lostState, error) {
	read, isGone := o.prepareRead(e, func(ctx context.Context, applier apply.Applier, target apply.Target) apply.Outcome {
		return applier.FindWritten(ctx, o.Program.Label, e, target)
	})
	if read == nil && !isGone {
		return lostUnread, nil
	}
	if read != nil {
		found, ok, err := read(ctx)
		switch {
		case err != nil || !ok:
			o.answers.RecordFailure(e.GVK.GroupKind())
			return lostUnread, err
		case found.IsOwned && known[found.Object.GetUID()]:
			return lostSettled, nil // for this plan: no stream shows it yet
		case found.IsOwned:
			o.TakeHidden(ctx, e, found.Object)
			return lostThere, nil
		}
	}
	o.LostWrites.RecordAnswer(o.ownerUID(), e.ObjectKey())
	return lostSettled, nil
}

// knownObjects are the uids of the objects that plans of this reconcile were told of, though no stream
// shows them.
func (o *recordObjects) knownObjects() map[types.UID]bool {
	known := map[types.UID]bool{}
	for _, m := range o.existing {
		known[m.object.GetUID()] = true
	}
	return known
}

// prepareRead returns how an object is read by its name, and has the next plan know why it is not: see
// recordcheck.Objects.
func (o *recordObjects) prepareRead(e inventory.Entry, look find) (read recordcheck.Read, isGone bool) {
	key := recordKey(e)
	if !o.seekKind(e.GVK) {
		o.addProblem(key, *policykinds.TooManyKinds())
		return nil, false
	}
	resource, served := o.Kinds.LookupAnyVersion(e.GVK)
	switch {
	case !served:
		_, problem := o.Kinds.ResolveKind(e.GVK)
		if problem != nil && !problem.Gone {
			o.addProblem(key, *problem)
		}
		return nil, problem != nil && problem.Gone
	case resource.Namespaced != (e.Namespace != ""):
		return nil, true // of such a kind there is nothing there
	}
	at, isKnown := o.state.inputs.PermissionsAt(e.Namespace), o.hasProblem(key)
	if o.isHeldBack(key, func() string { return key }, at, at.Own.ProblemFor(resource.GVR.GroupResource(), "", "get")) {
		o.hasNews = o.hasNews || !isKnown
		return nil, false
	}
	return func(ctx context.Context) (recordcheck.Found, bool, error) {
		delete(o.awaitsTurn, key)
		found, ok, err := o.readWith(ctx, resource, look, func(problem plan.Problem) bool {
			if o.isMissing(resource, problem) {
				return false
			}
			o.reportUnread(ctx, e, resource, problem)
			o.hasNews = true
			return true
		})
		if ok {
			o.forgetRefusal(key)
		}
		return found, ok, err
	}, false
}

// recordKey is the key of the problem that the object of an entry cannot be read.
func recordKey(e inventory.Entry) string {
	return fmt.Sprintf("record %s %s/%s", e.GVK.GroupKind(), e.Namespace, e.Name)
}

func (o *recordObjects) hasProblem(key string) bool {
	_, has := o.problems[key]
	return has
}

func (o *recordObjects) addProblem(key string, problem plan.Problem) {
	o.hasNews = o.hasNews || !o.hasProblem(key)
	o.problems[key] = problem
}

// reportUnread lets the next plan know that the object of an entry cannot be read, so that the entry
// stays.
func (o *recordObjects) reportUnread(ctx context.Context, e inventory.Entry, found discovery.Resource, problem plan.Problem) {
	a := access.Access{Verb: "get", Group: found.GVR.Group, Resource: found.GVR.Resource, Name: e.Name}
	isNews := o.recordRefusal(recordKey(e), recordKey(e), e.Namespace, a, problem)
	ctrllog.FromContext(ctx).V(refusalLevel(ctx, isNews)).Info("whether an object of the record is gone cannot be seen", "reason", problem.Reason, "message", problem.Message)
}

// isMissing says whether the kind is not served, which its streams know as well: then
// the plan knows it too.
func (o *recordObjects) isMissing(k discovery.Resource, problem plan.Problem) bool {
	for interest, lister := range o.state.inputs.ChildStreams() {
		if problem.Reason == v1alpha1.ReasonKindMissing && interest.Key.GVR == k.GVR && lister.State() == informer.Missing {
			return true
		}
	}
	return false
}
