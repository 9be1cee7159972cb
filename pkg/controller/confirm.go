package controller

import (
	"context"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/fairqueue"
	"github.com/ambit-dev/ambit/pkg/controller/writeconflict"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/internal/apply"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

const (
	// confirmBatch is how many objects of a record are read by name for one owner in a row: what
	// a policy's edit drops is mostly fewer, and so many take a worker a fraction of a second.
	confirmBatch = 32
	// confirmPause is the least time between two batches of one owner: 1000 entries take half a
	// minute.
	confirmPause = time.Second
	// confirmCalm is how long nothing has to be read, or wanted to be, until an owner has another
	// batch without waiting for its turn. It is longer than a contested mark ever waits.
	confirmCalm = writeconflict.Over
	// confirmMemory is for how long an object that was gone is not read again.
	confirmMemory = 10 * time.Second
	// confirmTries bounds the wait of an owner whose turn it is not, because others of its policy
	// have batches read: to about 6 s.
	confirmTries = 5
)

// recordReads is what is remembered of the objects of an owner's record that were read by their
// names. Who writes the owner chooses these names. The zero value: none was.
type recordReads struct {
	last  time.Time // when one was read, or was to be
	count int       // so many were read with less than confirmCalm between any two
	next  time.Time // no other batch is read before
	tries int       // to have one read, in a row
	// gone are objects that were gone, with the time of reading; at most confirmBatch. They have a
	// uid: an object without one may still come, and is read each time.
	gone map[goneEntry]time.Time
}

// goneEntry is an entry, and the secret that its object was proven with.
type goneEntry struct {
	inventory.Entry
	secret string
}

// startBatch returns how many objects may be read now. Beyond the first batch, the owners of a
// policy take turns, for a part of the time; end is then called when they are read. later is
// Controller.backoffAfter.
func (r *recordReads) startBatch(turns *fairqueue.Throttle, later func(failures int) time.Duration, now time.Time) (may int, end func(time.Time)) {
	if now.Sub(r.last) >= confirmCalm {
		r.count, r.tries = 0, 0
	}
	switch {
	case r.count < confirmBatch:
		return confirmBatch - r.count, func(time.Time) {}
	case now.Before(r.next):
		return 0, func(time.Time) {}
	}
	if wait := turns.Enter(now); wait > 0 {
		r.last, r.next = now, now.Add(max(wait, later(min(r.tries, confirmTries))))
		r.tries++
		return 0, func(time.Time) {}
	}
	r.tries = 0
	return confirmBatch, func(done time.Time) {
		turns.Charge(done.Sub(now))
		turns.Leave(done)
	}
}

// note notes that an object was read, and whether it was gone.
func (r *recordReads) note(e goneEntry, there bool, now time.Time) {
	r.last, r.next = now, now.Add(confirmPause)
	r.count++
	maps.DeleteFunc(r.gone, func(_ goneEntry, at time.Time) bool { return now.Sub(at) >= confirmMemory })
	if there || e.UID == "" || len(r.gone) >= confirmBatch {
		return
	}
	if r.gone == nil {
		r.gone = map[goneEntry]time.Time{}
	}
	r.gone[e] = now
}

// isGone reports whether the object was gone a short while ago: one of that uid does not come back.
func (r *recordReads) isGone(e goneEntry, now time.Time) bool {
	at, known := r.gone[e]
	return known && now.Sub(at) < confirmMemory
}

// confirmedObject is what the API server has answered about an object of the record.
type confirmedObject struct {
	uid types.UID // empty: it is gone, or is not the owner's
	at  time.Time // when it was asked
}

// settleTrust is how long an answer is taken for what is there when a uid is put on record: mostly
// longer than the writes of one plan take. In between, another process may see the object go, and make
// another; that this can happen after the last answer as well is not to be helped.
const settleTrust = 10 * time.Second

// confirmRecord reads the objects of the entries that a mark drops, or gives a uid, each at most once
// in a reconcile: streams do not show those that have lost their labels, nor one whose create was
// accepted while its answer was lost, and may be behind another process. It returns the mark that
// may be written; nil: none, now. did: something was learnt that the next plan has to know.
//
// An entry that is to be dropped, and whose object is there, is in the way of the whole mark. One whose
// uid is not confirmed stays as it is on record, and so do those that are too many to be read in one
// reconcile; then the owner is looked at again.
func (p *ownerReconciler) confirmRecord(ctx context.Context, mark plan.OwnerMetadata) (may *plan.OwnerMetadata, did bool, err error) {
	record, wanted := mark.DoubtfulEntries(p.program, p.owner)
	c := &recordCheck{ownerReconciler: p, mark: mark, record: record, end: func(time.Time) {}}
	defer func() { c.end(p.controller.now()) }()
	isThere := false
	for _, e := range record.Entries {
		if wanted[e.ObjectKey()] != "" {
			continue
		}
		there, ok, err := c.checkDropped(ctx, e)
		if err != nil || !ok {
			return nil, true, err
		}
		isThere = isThere || there
	}
	if isThere {
		return nil, c.did, nil
	}
	for _, e := range record.Entries {
		if want := wanted[e.ObjectKey()]; want != "" {
			if err := c.checkSettled(ctx, e, want); err != nil {
				return nil, true, err
			}
		}
	}
	if len(c.stay) == 0 {
		return &mark, false, nil
	}
	p.waits, p.isPaced = !c.isFailed, c.isPaced
	if c.isPaced {
		p.requeueAt(p.state.reads.next)
	}
	if kept, changes := mark.KeepRecorded(p.program, p.owner, c.stay); changes {
		return &kept, c.did, nil
	}
	return nil, c.did, nil
}

// recordCheck is one run of confirmRecord.
type recordCheck struct {
	*ownerReconciler
	mark   plan.OwnerMetadata
	record inventory.Inventory

	isStarted bool // left and end are those of a batch
	left      int  // how many objects may still be read
	end       func(time.Time)

	stay     []inventory.Entry // entries that stay as they are
	isPaced  bool              // some because they are too many
	isFailed bool              // some because they could not be read, or are not what was wanted
	did      bool
}

// mayRead counts one object to be read, unless there were enough.
func (c *recordCheck) mayRead() bool {
	if !c.isStarted {
		c.left, c.end = c.state.reads.startBatch(&c.confirms, c.controller.backoffAfter, c.controller.now())
		c.isStarted = true
	}
	if c.left == 0 {
		c.isPaced = true
		return false
	}
	c.left--
	return true
}

// checkDropped reports whether the object of an entry that is to be dropped is there. ok is false if
// that could not be found out now; a problem of the owner's metadata then says why.
func (c *recordCheck) checkDropped(ctx context.Context, e inventory.Entry) (there, ok bool, err error) {
	entry, sent := goneEntry{e, c.record.TokenSecret}, c.controller.now()
	switch known, isKnown := c.confirmedObjects[e.ObjectKey()]; {
	case isKnown:
		return known.uid != "", true, nil
	case c.state.reads.isGone(entry, sent):
		return false, true, nil
	case !c.mayRead():
		c.stay = append(c.stay, e)
		return false, true, nil
	}
	outcome, ok, err := c.readDropped(ctx, c.mark, c.record, e)
	if err != nil || !ok {
		c.state.reads.note(entry, true, c.controller.now()) // for all that is known
		return false, false, err
	}
	there = c.takeConfirmed(ctx, e, outcome, "", sent) != ""
	c.state.reads.note(entry, there, c.controller.now())
	return there, true, nil
}

// checkSettled has an entry stay as it is unless its object is the one that it is to be given the uid of.
func (c *recordCheck) checkSettled(ctx context.Context, e inventory.Entry, want types.UID) error {
	uid, ok, err := c.readSettled(ctx, e, want)
	if err != nil || ok && uid == want {
		return err
	}
	c.isFailed = c.isFailed || ok
	c.stay = append(c.stay, e)
	return nil
}

// readSettled returns the uid of an entry's object, as takeConfirmed does. ok is false if it could not be
// read now: after one of which that is so, the others are for the next reconcile.
func (c *recordCheck) readSettled(ctx context.Context, e inventory.Entry, want types.UID) (uid types.UID, ok bool, err error) {
	const failed = "settle"
	sent := c.controller.now()
	if known, is := c.confirmedObjects[e.ObjectKey()]; is && sent.Sub(known.at) < settleTrust {
		return known.uid, true, nil
	}
	found, served := c.controller.discovery.LookupAnyVersion(e.GVK)
	switch {
	case !served || c.state.inputs.permissionsAt(e.Namespace).own.ProblemFor(found.GVR.GroupResource(), "", "get") != nil:
		return "", false, nil // the owner is queued when that changes
	case c.triedActions[failed]:
		c.isFailed = true
		return "", false, nil
	case !c.mayRead():
		return "", false, nil
	}
	outcome, err := c.findRecorded(ctx, c.record, e, found)
	c.state.reads.note(goneEntry{e, c.record.TokenSecret}, true, c.controller.now())
	switch {
	case err != nil:
		return "", false, err
	case outcome.Problem != nil:
		c.triedActions[failed], c.isFailed = true, true
		c.reportUnsettled(ctx, e, found, *outcome.Problem)
		return "", false, nil
	}
	return c.takeConfirmed(ctx, e, outcome, want, sent), true, nil
}

// reportUnsettled logs why an entry stays without a uid, and has a refusal reviewed.
func (c *recordCheck) reportUnsettled(ctx context.Context, e inventory.Entry, found discovery.Resource, problem plan.Problem) {
	if problem.Reason == v1alpha1.ReasonForbidden {
		c.permissions.ReportDenied(e.Namespace, access.Access{Verb: "get", Group: found.GVR.Group, Resource: found.GVR.Resource, Name: e.Name})
	}
	ctrllog.FromContext(ctx).V(1).Info("the record stays without the uid of a child that cannot be read", "kind", e.GVK.Kind, "namespace", e.Namespace, "object", e.Name, "reason", problem.Reason, "message", problem.Message)
}

// takeConfirmed takes over what the object of an entry was read as, and returns its uid: empty if it is
// gone, or is neither proven by the record nor the one that is wanted. Another one than that is new to
// the plan.
func (c *recordCheck) takeConfirmed(ctx context.Context, e inventory.Entry, outcome apply.Outcome, want types.UID, sent time.Time) (uid types.UID) {
	if live := outcome.Object; live != nil && (outcome.Met || live.GetUID() == want) {
		uid = live.GetUID()
	}
	c.confirmedObjects[e.ObjectKey()] = confirmedObject{uid: uid, at: sent}
	if uid != "" && uid != want {
		c.existing = append(c.existing, existingObject{kind: e.GVK, object: outcome.Object, hidden: true})
		c.did = true
		ctrllog.FromContext(ctx).Info("found by the record, and not by a stream", "kind", e.GVK.Kind, "namespace", e.Namespace, "object", e.Name, "uid", uid)
	}
	return uid
}

// readDropped reads the object of an entry that is to be dropped.
func (p *ownerReconciler) readDropped(ctx context.Context, mark plan.OwnerMetadata, record inventory.Inventory, e inventory.Entry) (outcome apply.Outcome, ok bool, err error) {
	if !p.seekKind(e.GVK) {
		p.problems[plan.KeyOwner] = *tooManyKinds()
		return outcome, false, nil
	}
	found, served := p.controller.discovery.LookupAnyVersion(e.GVK)
	if !served {
		_, problem := p.resolveKind(e.GVK)
		if problem != nil && !problem.Gone {
			p.problems[plan.KeyOwner] = *problem
		}
		return outcome, problem != nil && problem.Gone, nil
	}
	at := p.state.inputs.permissionsAt(e.Namespace)
	if p.isHeldBack(plan.KeyOwner, func() string { return markText(mark) }, at, at.own.ProblemFor(found.GVR.GroupResource(), "", "get")) {
		return outcome, false, nil
	}
	outcome, err = p.findRecorded(ctx, record, e, found)
	if err == nil && outcome.Problem != nil && !p.isMissing(found, *outcome.Problem) {
		p.handleUnconfirmed(ctx, mark, e, found, *outcome.Problem)
		return outcome, false, nil
	}
	return outcome, err == nil, err
}

func (p *ownerReconciler) findRecorded(ctx context.Context, record inventory.Inventory, e inventory.Entry, found discovery.Resource) (apply.Outcome, error) {
	applier, err := p.newApplier()
	if err != nil {
		return apply.Outcome{}, err
	}
	return applier.FindRecorded(ctx, record, e, apply.Target{Resource: found.GVR, OwnerUID: p.ownerUID(), Lives: p.ownerExists}), nil
}

// handleUnconfirmed lets the next plan know that the mark cannot be written.
func (p *ownerReconciler) handleUnconfirmed(ctx context.Context, mark plan.OwnerMetadata, e inventory.Entry, found discovery.Resource, problem plan.Problem) {
	a := access.Access{Verb: "get", Group: found.GVR.Group, Resource: found.GVR.Resource, Name: e.Name}
	level := 1
	if p.recordRefusal(plan.KeyOwner, markText(mark), e.Namespace, a, problem) && ctx.Err() == nil {
		level = 0
	}
	ctrllog.FromContext(ctx).V(level).Info("whether an object of the record is gone cannot be seen", "reason", problem.Reason, "message", problem.Message)
}

// isMissing says whether the kind is not served, which its streams know as well: then
// the plan knows it too.
func (p *ownerReconciler) isMissing(k discovery.Resource, problem plan.Problem) bool {
	s := p.state.inputs
	for i, need := range s.needs[:s.watching] {
		if problem.Reason == v1alpha1.ReasonKindMissing && need.Key.GVR == k.GVR && s.views[i].State() == informer.Missing {
			return true
		}
	}
	return false
}
