// Package recordcheck finds out, by reading objects by their names, what of an owner's record may
// change. It sends no request itself, reads no clock and logs nothing: what it needs is handed to it
// (Objects, Check.Now).
//
// The record, the owner's annotation ambit.dev/children, is all that leads to some objects. Before an
// entry is dropped because its object is taken for gone, or is given a uid, the object is read by its
// name: streams do not show one that has lost its labels, nor one whose create was accepted while its
// answer was lost, and may be behind another process.
//
// A check reads each object at most once in a reconcile (Answers), and only so many in a row (Reads):
// who writes the owner chooses what its record names. Entries come out of it in one of four ways.
//
//   - The change is confirmed.
//   - An object that was to be gone is there. Nothing of the record may be written then
//     (Result.IsBlocked): the next plan has to know first. One that says itself that it is left behind is
//     not in the way.
//   - An object that was to be gone cannot be read, or a uid is not confirmed: the entry stays as it is
//     (Result.Stay), and the rest may be written.
//   - There are too many to be read in a row: the entry stays, and the owner is looked at again
//     (Result.Again).
package recordcheck

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// answerTrust is how long an answer is taken for what is there when a uid is put on record: mostly
// longer than the writes of one plan take. In between, another process may see the object go, and make
// another; that this can happen after the last answer as well is not to be helped.
const answerTrust = 10 * time.Second

// Answers are what the API server has answered about objects in one reconcile. The zero value: nothing
// yet. Not safe for concurrent use.
type Answers struct {
	byObject map[inventory.ObjectKey]answer
	// hasFailed: an object could not be read whose uid was to go on record.
	hasFailed bool
	// failed are the kinds of which an object could not be read that something was to be dropped for.
	failed map[schema.GroupKind]bool
}

// answer is what was answered about one object.
type answer struct {
	uid types.UID // empty: it is gone, or is not the owner's
	at  time.Time // when it was asked
}

// RecordAnswer notes that what was asked then about an object was answered with a uid; empty: it is gone,
// or is not the owner's.
func (a *Answers) RecordAnswer(key inventory.ObjectKey, uid types.UID, asked time.Time) {
	if a.byObject == nil {
		a.byObject = map[inventory.ObjectKey]answer{}
	}
	a.byObject[key] = answer{uid: uid, at: asked}
}

// RecordFailure notes that an object of a kind could not be read.
func (a *Answers) RecordFailure(kind schema.GroupKind) {
	if a.failed == nil {
		a.failed = map[schema.GroupKind]bool{}
	}
	a.failed[kind] = true
}

// HasFailed reports whether an object of a kind could not be read. No other one of it is asked for in the
// reconcile: each may take as long as a request may.
func (a *Answers) HasFailed(kind schema.GroupKind) bool { return a.failed[kind] }

// Found is what the object of an entry was read as. The zero value: it is gone.
type Found struct {
	// Object is the live object; nil: it is gone. It is not changed.
	Object *unstructured.Unstructured
	// IsOwned: the record proves that it is the owner's, and nothing ties it to another one.
	IsOwned bool
	// IsLeftBehind, with IsOwned: its ownership token says that it is left behind, whatever the policy
	// says by now. So it is not in the way of dropping its entry.
	IsLeftBehind bool
}

// Read reads an object. ok is false if it could not be read, and what says why was told that by then.
type Read func(context.Context) (found Found, ok bool, err error)

// Objects is what a check asks of the reconcile that it is part of.
type Objects interface {
	// DroppedRead returns how the object of an entry is read that is to be dropped; or that it is known to
	// be gone. Neither: it cannot be read now, as where that failed a short while ago, what says why was
	// told, and the owner is looked at again when that changes.
	DroppedRead(record inventory.Inventory, e inventory.Entry) (read Read, isGone bool)
	// IsHeldBack reports whether the object of an entry that is to be dropped is not to be read again yet. If it
	// could not be read when that was tried last, the plan is told why, as long as it has not been read: also
	// while it waits for its turn.
	IsHeldBack(e inventory.Entry) bool
	// SettledRead returns how the object of an entry is read that is to be given a uid. Nil: it cannot be
	// read now, and the owner is looked at again when that changes.
	SettledRead(record inventory.Inventory, e inventory.Entry) Read
	// TakeHidden lets the next plan know of an object of the owner that no stream may show.
	TakeHidden(ctx context.Context, e inventory.Entry, object *unstructured.Unstructured)
}

// Check is one run over the entries of an owner's record. All fields are required.
type Check struct {
	Objects Objects
	// Reads are those of the owner, and Answers those of the reconcile: both are changed.
	Reads   *Reads
	Answers *Answers
	// Turns are those of the owner's policy.
	Turns Turns
	// Backoff is how long to wait for a turn after so many failures before the last one.
	Backoff func(failures int) time.Duration
	Now     func() time.Time
}

// Result says what of a record may change.
type Result struct {
	// IsBlocked: an object whose entry is to be dropped is there. Nothing may be written, and what is
	// below but HasNews is not set.
	IsBlocked bool
	// HasNews: something was learnt that the next plan has to know.
	HasNews bool
	// Stay are entries that stay on record as they are.
	Stay []inventory.Entry
	// IsFailed: some of them stay because the object whose uid they were to be given could not be read,
	// or is not what was wanted.
	IsFailed bool
	// IsPaced: some of them stay because they are too many to be read in a row, or another one of their kind
	// could not be read. Again is when the owner is to be looked at for them; zero: it need not be.
	IsPaced bool
	Again   time.Time
}

// CheckEntries reads the objects of the entries of a record that is to change: those in wanted are to be
// given that uid, or to lose theirs if it is empty, and all others are to be dropped. First those are read that
// are to be dropped, or to lose their uid, in the order of the record. One that is to lose its uid, and cannot
// be read, may: nothing could be made in its place else, and what leads to it stays. An error is one of Objects,
// and ends the check: nothing may be written then, as if something was in the way.
func (c Check) CheckEntries(ctx context.Context, record inventory.Inventory, wanted map[inventory.ObjectKey]types.UID) (Result, error) {
	r := &run{Check: c, record: record, end: func(time.Time) {}}
	defer func() { r.end(c.Now()) }()
	isThere := false
	for _, e := range record.Entries {
		want, stays := wanted[e.ObjectKey()]
		if want != "" {
			continue
		}
		r.isSkipped = false
		there, isKnown, err := r.checkDropped(ctx, e)
		if err != nil {
			return Result{IsBlocked: true, HasNews: true}, err
		}
		if !isKnown && !stays {
			r.result.Stay = append(r.result.Stay, e)
			r.result.IsPaced = r.result.IsPaced || r.isSkipped // what failed is held back by the time that the owner is looked at again
		}
		isThere = isThere || there
	}
	if isThere {
		return Result{IsBlocked: true, HasNews: r.result.HasNews}, nil
	}
	for _, e := range record.Entries {
		if want := wanted[e.ObjectKey()]; want != "" {
			if err := r.checkSettled(ctx, e, want); err != nil {
				return Result{IsBlocked: true, HasNews: true}, err
			}
		}
	}
	if r.result.IsPaced {
		r.result.Again = c.Reads.next
	}
	return r.result, nil
}

// run is a Check under way.
type run struct {
	Check
	record inventory.Inventory
	result Result

	isStarted bool // left and end are those of a batch
	left      int  // how many objects may still be read
	end       func(time.Time)
	isSkipped bool // the last entry was not read because another one of its kind could not be
}

// mayRead counts one object to be read, unless there were enough.
func (r *run) mayRead() bool {
	if !r.isStarted {
		r.left, r.end = r.Reads.startBatch(r.Turns, r.Backoff, r.Now())
		r.isStarted = true
	}
	if r.left == 0 {
		r.result.IsPaced = true
		return false
	}
	r.left--
	return true
}

// checkDropped reports whether the object of an entry is there that is to be dropped, or to lose its uid.
// isKnown is false if that cannot be found out now.
func (r *run) checkDropped(ctx context.Context, e inventory.Entry) (there, isKnown bool, err error) {
	entry, sent := goneEntry{e, r.record.TokenSecret}, r.Now()
	switch known, isKnown := r.Answers.byObject[e.ObjectKey()]; {
	case isKnown:
		return known.uid != "", true, nil
	case r.Reads.isGone(entry, sent):
		return false, true, nil
	case r.Objects.IsHeldBack(e): // before mayRead: it is no reason to look at the owner again when it may
		return false, false, nil
	case r.Answers.HasFailed(e.GVK.GroupKind()):
		r.isSkipped = true
		return false, false, nil
	case !r.mayRead():
		return false, false, nil
	}
	read, isGone := r.Objects.DroppedRead(r.record, e)
	if read == nil {
		r.left++
		return false, isGone, nil
	}
	found, ok, err := read(ctx)
	if err != nil || !ok {
		r.Reads.recordRead(entry, true, r.Now()) // for all that is known
		r.Answers.RecordFailure(e.GVK.GroupKind())
		return false, false, err
	}
	if found.IsLeftBehind {
		found = Found{}
	}
	there = r.takeFound(ctx, e, found, "", sent) != ""
	r.Reads.recordRead(entry, there, r.Now())
	return there, true, nil
}

// checkSettled has an entry stay as it is unless its object is the one that it is to be given the uid of.
func (r *run) checkSettled(ctx context.Context, e inventory.Entry, want types.UID) error {
	uid, ok, err := r.readSettled(ctx, e, want)
	if err != nil || ok && uid == want {
		return err
	}
	r.result.IsFailed = r.result.IsFailed || ok
	r.result.Stay = append(r.result.Stay, e)
	return nil
}

// readSettled returns the uid of an entry's object, as takeFound does. ok is false if it could not be
// read now: after one of which that is so, the others are for the next reconcile.
func (r *run) readSettled(ctx context.Context, e inventory.Entry, want types.UID) (uid types.UID, ok bool, err error) {
	sent := r.Now()
	if known, is := r.Answers.byObject[e.ObjectKey()]; is && sent.Sub(known.at) < answerTrust {
		return known.uid, true, nil
	}
	read := r.Objects.SettledRead(r.record, e)
	switch {
	case read == nil:
		return "", false, nil
	case r.Answers.hasFailed:
		r.result.IsFailed = true
		return "", false, nil
	case !r.mayRead():
		return "", false, nil
	}
	found, ok, err := read(ctx)
	r.Reads.recordRead(goneEntry{e, r.record.TokenSecret}, true, r.Now())
	if err != nil {
		return "", false, err
	}
	if !ok {
		r.Answers.hasFailed, r.result.IsFailed = true, true
		return "", false, nil
	}
	return r.takeFound(ctx, e, found, want, sent), true, nil
}

// takeFound takes over what the object of an entry was read as, and returns its uid: empty if it is
// gone, or is neither proven by the record nor the one that is wanted. Another one than that is new to
// the plan.
func (r *run) takeFound(ctx context.Context, e inventory.Entry, found Found, want types.UID, sent time.Time) (uid types.UID) {
	if live := found.Object; live != nil && (found.IsOwned || live.GetUID() == want) {
		uid = live.GetUID()
	}
	r.Answers.RecordAnswer(e.ObjectKey(), uid, sent)
	if uid != "" && uid != want {
		r.result.HasNews = true
		r.Objects.TakeHidden(ctx, e, found.Object)
	}
	return uid
}
