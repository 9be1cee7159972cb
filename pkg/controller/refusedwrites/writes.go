// Package refusedwrites remembers which writes for one owner the API server has refused, and decides when
// each is tried again. It does no I/O and reads no clock.
//
// The caller has one key for each thing that it writes: a child, the owner's metadata, its status. It
//
//   - calls CurrentProblem before it writes. If the same write was refused a short while ago, it does not
//     write, and the problem is the answer.
//   - calls RecordRefusal when a write is refused, and ForgetRefusal when one is accepted, or when the key
//     has another problem.
//   - looks again at the time of NextTry.
//
// Of each key the last refusal counts. Another write of the same key is not held back, nor is any when the
// permissions are others than those as of which it was refused. Refusals in a row make the wait longer if
// they are of the same write or for the same reason, so that two writes that take turns do, too.
package refusedwrites

import (
	"crypto/sha256"
	"maps"
	"time"

	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/controller/writeconflict"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// memory is how long a refusal is remembered after its write may be tried again: what nobody has tried
// by then is not wanted any more. It is as long as the longest wait.
const memory = writeconflict.MaxWait

// Writes are the refused writes of one owner, by key. The zero value has none, and is ready. Not safe for
// concurrent use.
type Writes struct {
	byKey map[string]refusal
}

// Refusal is a write that was refused.
type Refusal struct {
	// Write says which write it was: equal for equal writes. It may be large, and is not kept.
	Write string
	// Problem is why it was refused.
	Problem plan.Problem
	// Permissions are those of the write's place as of then; nil is a value like others.
	Permissions *permissionset.Set
	// AtLeast is how long the write waits even if the backoff is shorter; 0: no longer than that.
	AtLeast time.Duration
}

// refusal is what is kept of a Refusal.
type refusal struct {
	write       [sha256.Size]byte
	problem     plan.Problem
	permissions *permissionset.Set
	atLeast     time.Duration
	failures    int // in a row before this one
	until       time.Time
}

// RecordRefusal notes that a write was refused now, in place of what was known of its key, and reports
// whether that is news: the first refusal of the key, or for another reason than the last one. backoff is
// how long to wait after so many failures in a row before this one.
func (w *Writes) RecordRefusal(key string, refused Refusal, backoff func(failures int) time.Duration, now time.Time) (isNews bool) {
	maps.DeleteFunc(w.byKey, func(_ string, r refusal) bool { return now.Sub(r.until) > memory })
	r := refusal{write: digestOf(refused.Write), problem: refused.Problem, permissions: refused.Permissions, atLeast: refused.AtLeast}
	before, isKnown := w.byKey[key]
	isSameReason := before.problem.Message == r.problem.Message
	if isKnown && (before.write == r.write || isSameReason) {
		r.failures = before.failures + 1
	}
	r.until = now.Add(max(r.atLeast, backoff(r.failures)))
	if w.byKey == nil {
		w.byKey = map[string]refusal{}
	}
	w.byKey[key] = r
	return !isKnown || !isSameReason
}

// CurrentProblem returns whether a write is not to be tried now, and why; if it may be tried, the problem
// says nothing. write is called only if something of the key was refused: see Refusal.Write.
func (w *Writes) CurrentProblem(key string, write func() string, permissions *permissionset.Set, now time.Time) (problem plan.Problem, isHeldBack bool) {
	r, isKnown := w.byKey[key]
	if !isKnown {
		return plan.Problem{}, false
	}
	isHeldBack = r.write == digestOf(write()) && r.permissions == permissions && now.Before(r.until)
	return r.problem, isHeldBack
}

// LastProblem returns why the last write of a key was refused, as far as that is remembered, also if it may be
// tried again by now.
func (w *Writes) LastProblem(key string, now time.Time) (problem plan.Problem, isRefused bool) {
	r, isKnown := w.byKey[key]
	if !isKnown || now.Sub(r.until) > memory {
		return plan.Problem{}, false
	}
	return r.problem, true
}

// HasRefusal reports whether the last write of a key was refused, as far as that is remembered.
func (w *Writes) HasRefusal(key string) bool {
	_, isKnown := w.byKey[key]
	return isKnown
}

// NextTry returns when the write of a key that was refused may be tried again; false: none was.
func (w *Writes) NextTry(key string) (at time.Time, isRefused bool) {
	r, isRefused := w.byKey[key]
	return r.until, isRefused
}

// ForgetRefusal forgets what is known of a key.
func (w *Writes) ForgetRefusal(key string) { delete(w.byKey, key) }

// digestOf is equal for equal texts, and small.
func digestOf(text string) [sha256.Size]byte { return sha256.Sum256([]byte(text)) }
