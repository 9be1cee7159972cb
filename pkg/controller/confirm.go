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

// confirmRecord reads the objects of the entries that a mark drops, or gives a uid, each at most once
// in a reconcile: streams do not show those that have lost their labels, nor one whose create was
// accepted while its answer was lost, and may be behind another process. It returns the mark that
// may be written; nil: none, now. Where there are too many to be read in one reconcile, that keeps
// the others as they are on record, and the owner is looked at again. did: something was learnt that
// the next plan has to know.
func (p *ownerReconciler) confirmRecord(ctx context.Context, mark plan.OwnerMetadata) (may *plan.OwnerMetadata, did bool, err error) {
	record, wanted := mark.DoubtfulEntries(p.program, p.owner)
	reads := &p.state.reads
	var stay []inventory.Entry
	left, end := -1, func(time.Time) {}
	defer func() { end(p.controller.now()) }()
	differs := false
	for _, e := range record.Entries {
		want := wanted[e.ObjectKey()] // empty: it is dropped
		uid, known := p.confirmedObjects[e.ObjectKey()]
		entry := goneEntry{e, record.TokenSecret}
		if !known && !reads.isGone(entry, p.controller.now()) {
			if left < 0 {
				left, end = reads.startBatch(&p.confirms, p.controller.backoffAfter, p.controller.now())
			}
			if left == 0 {
				stay = append(stay, e)
				continue
			}
			left--
			outcome, ok, err := p.readRecorded(ctx, mark, record, e)
			if err != nil || !ok {
				reads.note(entry, true, p.controller.now())
				return nil, true, err
			}
			var news bool
			uid, news = p.takeConfirmed(ctx, e, outcome, want)
			reads.note(entry, uid != "", p.controller.now())
			did = did || news
		}
		differs = differs || uid != want
	}
	switch {
	case differs:
		p.isCacheBehind = p.isCacheBehind || !did
		return nil, did, nil
	case len(stay) == 0:
		return &mark, false, nil
	}
	p.waits = true
	p.requeueAt(reads.next)
	if kept, changes := mark.KeepRecorded(p.program, p.owner, stay); changes {
		return &kept, false, nil
	}
	return nil, false, nil
}

// readRecorded reads the object of one entry. ok is false if that could not be done now; a problem of
// the owner's metadata then says why.
func (p *ownerReconciler) readRecorded(ctx context.Context, mark plan.OwnerMetadata, record inventory.Inventory, e inventory.Entry) (outcome apply.Outcome, ok bool, err error) {
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
	client, err := p.controller.options.Clients(p.identity)
	if err != nil {
		return outcome, false, err
	}
	applier := apply.Applier{Client: client, Manager: p.manager, Identity: p.userName()}
	outcome = applier.FindRecorded(ctx, record, e, apply.Target{Resource: found.GVR, OwnerUID: p.ownerUID(), Lives: p.ownerExists})
	if outcome.Problem != nil && !p.isMissing(found, *outcome.Problem) {
		p.handleUnconfirmed(ctx, mark, e, found, *outcome.Problem)
		return outcome, false, nil
	}
	return outcome, true, nil
}

// takeConfirmed takes over what the object of an entry was read as, and returns its uid: empty if
// there is none that the record proves, nor the one that is wanted. news: it was taken for gone, or
// for another.
func (p *ownerReconciler) takeConfirmed(ctx context.Context, e inventory.Entry, outcome apply.Outcome, want types.UID) (uid types.UID, news bool) {
	if live := outcome.Object; live != nil && (outcome.Met || live.GetUID() == want) {
		uid = live.GetUID()
	}
	p.confirmedObjects[e.ObjectKey()] = uid
	if uid == "" || uid == want {
		return uid, false
	}
	p.existing = append(p.existing, existingObject{kind: e.GVK, object: outcome.Object, hidden: true})
	ctrllog.FromContext(ctx).Info("found by the record, though no stream shows it", "kind", e.GVK.Kind, "namespace", e.Namespace, "object", e.Name)
	return uid, true
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
