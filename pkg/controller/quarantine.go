package controller

import (
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// An owner whose plan runs into a limit costs what the limit allows, each time. It is
// not planned for again for a while, a short one if the owner itself changes; and with
// many such owners at a time the policy as a whole waits, so that the others have a
// share. When that is over, owners that ran into no limit go first: else the same ones
// as before could have the policy held again before another has a turn.
const (
	limitedMin     = 30 * time.Second
	limitedMax     = 10 * time.Minute
	limitedChanged = 5 * time.Second
	heldMin        = time.Minute
	heldMax        = 15 * time.Minute
	heldFirst      = 10 * time.Second
	heldByOwners   = 5
	// limitedMemory is how long an owner is remembered that nobody has planned for since
	// its time was over: it may have gone unseen.
	limitedMemory = time.Hour
)

// limited is an owner that ran into a limit.
type limited struct {
	resourceVersion string // of the owner as it was left
	failures        int    // in a row
	last, until     time.Time
}

// quarantine are the owners of a policy that ran into limits. Not safe for concurrent
// use. Its zero value is ready.
type quarantine struct {
	owners   map[types.NamespacedName]limited
	until    time.Time // of the policy as a whole
	failures int
	last     time.Time // when a limit was last run into
	// slow are the owners over which expressions took long, though within the limits.
	slow map[types.NamespacedName]slowness
}

// wait says how long an owner has to wait; 0: it does not.
func (q *quarantine) wait(name types.NamespacedName, resourceVersion string, now time.Time) time.Duration {
	if held := q.until.Sub(now); held > 0 {
		return held
	}
	of, ok := q.owners[name]
	if !ok {
		return 0
	}
	until := of.until
	if of.resourceVersion != resourceVersion {
		until = of.last.Add(limitedChanged)
	}
	if after := q.until.Add(heldFirst); after.After(until) {
		until = after
	}
	return max(0, until.Sub(now))
}

// exceeded notes that one of so many owners ran into a limit. It returns how long to
// leave the owner alone, and whether the policy as a whole is held from now on: if that
// is so of some owners at a time, and of at least half of all, so that a few do not
// stop the others.
func (q *quarantine) exceeded(name types.NamespacedName, resourceVersion string, all int, now time.Time) (wait time.Duration, held bool) {
	q.last = now
	if q.owners == nil {
		q.owners = map[types.NamespacedName]limited{}
	}
	maps.DeleteFunc(q.owners, func(_ types.NamespacedName, o limited) bool { return now.Sub(o.until) > limitedMemory })
	of := q.owners[name]
	wait = doubled(limitedMin, limitedMax, of.failures)
	q.owners[name] = limited{resourceVersion: resourceVersion, failures: of.failures + 1, last: now, until: now.Add(wait)}
	active := 0
	for _, o := range q.owners {
		if o.until.After(now) {
			active++
		}
	}
	if active < heldByOwners || 2*active < all || q.until.After(now) {
		return wait, false
	}
	if now.Sub(q.until) > heldMax {
		q.failures = 0
	}
	q.until = now.Add(doubled(heldMin, heldMax, q.failures))
	q.failures++
	return wait, true
}

// forget notes that an owner is gone, or was planned for within the limits.
func (q *quarantine) forget(name types.NamespacedName) { delete(q.owners, name) }

func doubled(first, last time.Duration, failures int) time.Duration {
	wait := first
	for range failures {
		if wait = min(2*wait, last); wait == last {
			break
		}
	}
	return wait
}

// heldBack says how long an owner has to wait because it, or the policy, ran into
// limits; nil: one that is gone. One that is to be cleaned up after does not wait.
func (op *operator) heldBack(name types.NamespacedName, owner *unstructured.Unstructured) time.Duration {
	if owner == nil || owner.GetDeletionTimestamp() != nil || op.retiring {
		return 0
	}
	op.mu.Lock()
	defer op.mu.Unlock()
	if len(op.quarantine.owners) == 0 {
		return 0
	}
	return op.quarantine.wait(name, owner.GetResourceVersion(), op.engine.now())
}

// limit holds an owner back whose plan ran into a limit, and says for how long. One that
// names too many places or kinds costs no more than others: it looks again after a while,
// and nobody else waits.
func (p *pass) limit(planned *plan.Plan) time.Duration {
	exceeded, crowded := false, false
	for _, b := range planned.Blockers {
		here := b.Message == p.state.sources.crowded || b.Message == tooManyKinds().Message
		exceeded = exceeded || b.Reason == v1alpha1.ReasonLimitExceeded && !here
		crowded = crowded || b.Reason == v1alpha1.ReasonLimitExceeded && here
	}
	name := p.state.subscriber.name
	if exceeded {
		return p.exceed(name, p.owner.GetResourceVersion())
	}
	p.mu.Lock()
	p.quarantine.forget(name)
	p.mu.Unlock()
	if crowded {
		return soonest(p.next(planned), crowdedRetry)
	}
	return 0
}

// exceed notes that an owner ran into a limit, and says how long to leave it alone.
func (op *operator) exceed(name types.NamespacedName, resourceVersion string) time.Duration {
	op.mu.Lock()
	wait, held := op.quarantine.exceeded(name, resourceVersion, len(op.owners), op.engine.now())
	op.mu.Unlock()
	if held {
		op.engine.enqueue(Key{Policy: op.id})
	}
	return wait
}

// held is the problem of a policy of which so many owners ran into limits that it is
// held as a whole, and for how long it is.
func (op *operator) held() (*plan.Problem, time.Duration) {
	op.mu.Lock()
	defer op.mu.Unlock()
	wait := op.quarantine.until.Sub(op.engine.now())
	if wait <= 0 {
		return nil, 0
	}
	return &plan.Problem{Reason: v1alpha1.ReasonQuarantined, Terminal: true,
		Message: fmt.Sprintf("%d or more owners of the policy, and half of all, run into limits of expressions or sizes: all of its owners wait", heldByOwners)}, wait
}
