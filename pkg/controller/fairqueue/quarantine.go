package fairqueue

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// ownerWaitMin and ownerWaitMax bound the backoff of an owner that exceeds limits,
	// which doubles with each failure.
	ownerWaitMin, ownerWaitMax = 30 * time.Second, 10 * time.Minute
	// changedOwnerWait is how long such an owner waits if it has changed since.
	changedOwnerWait = 5 * time.Second
	// ownerMemory is how long an owner is remembered after its wait is over. It may be
	// gone without notice.
	ownerMemory = time.Hour

	// policyWaitMin and policyWaitMax bound the backoff of a whole policy, which doubles
	// each time. After policyWaitMax without a wait it begins anew.
	policyWaitMin, policyWaitMax = time.Minute, 15 * time.Minute
	// othersFirst is how much longer than the policy its owners wait that exceeded limits.
	// Otherwise the same ones could trip the policy again before another has a turn.
	othersFirst = 10 * time.Second
)

// PolicyTripsAt is how many owners have to exceed limits at a time before their policy
// waits as a whole. They also have to be at least half of its owners.
const PolicyTripsAt = 5

// Quarantine holds back the owners of one policy that exceed limits, and the whole policy
// if there are many. Each reconcile of such an owner uses the full budget, so it is
// retried with backoff. Not safe for concurrent use. The zero value is ready.
type Quarantine struct {
	owners      map[types.NamespacedName]limitedOwner
	policyUntil time.Time // the whole policy waits until then
	policyTrips int       // in a row
}

// limitedOwner is an owner whose last plan or filter exceeded a limit.
type limitedOwner struct {
	resourceVersion string // of the owner as it was left
	failures        int    // in a row
	last, until     time.Time
}

// WaitTime returns how long the owner has to wait before it may be reconciled, 0 if it may now.
// An owner whose resourceVersion has changed since it exceeded a limit waits
// changedOwnerWait. Once all owners that exceeded limits are forgotten, nobody waits.
func (q *Quarantine) WaitTime(owner types.NamespacedName, resourceVersion string, now time.Time) time.Duration {
	if len(q.owners) == 0 {
		return 0
	}
	if wait := q.PolicyWait(now); wait > 0 {
		return wait
	}
	limited, ok := q.owners[owner]
	if !ok {
		return 0
	}
	until := limited.until
	if limited.resourceVersion != resourceVersion {
		until = limited.last.Add(changedOwnerWait)
	}
	if after := q.policyUntil.Add(othersFirst); after.After(until) {
		until = after
	}
	return max(0, until.Sub(now))
}

// PolicyWait returns how long the policy waits as a whole, 0 if it does not.
func (q *Quarantine) PolicyWait(now time.Time) time.Duration { return max(0, q.policyUntil.Sub(now)) }

// RecordExceeded notes that an owner, as of a resourceVersion, has exceeded a limit.
// ownerCount is how many owners the policy has. It returns how long the owner waits, and
// whether the policy waits as a whole from now on, which it did not before.
func (q *Quarantine) RecordExceeded(owner types.NamespacedName, resourceVersion string, ownerCount int, now time.Time) (wait time.Duration, tripped bool) {
	if q.owners == nil {
		q.owners = map[types.NamespacedName]limitedOwner{}
	}
	maps.DeleteFunc(q.owners, func(_ types.NamespacedName, o limitedOwner) bool { return now.Sub(o.until) > ownerMemory })
	failures := q.owners[owner].failures
	wait = doubledWait(ownerWaitMin, ownerWaitMax, failures)
	q.owners[owner] = limitedOwner{resourceVersion: resourceVersion, failures: failures + 1, last: now, until: now.Add(wait)}
	return wait, q.tripPolicy(ownerCount, now)
}

// tripPolicy has the policy wait as a whole if enough owners wait, and it does not yet. It
// reports whether it did so. A few owners of many do not stop the others.
func (q *Quarantine) tripPolicy(ownerCount int, now time.Time) bool {
	waiting := 0
	for _, limited := range q.owners {
		if limited.until.After(now) {
			waiting++
		}
	}
	if waiting < PolicyTripsAt || 2*waiting < ownerCount || q.PolicyWait(now) > 0 {
		return false
	}
	if now.Sub(q.policyUntil) > policyWaitMax {
		q.policyTrips = 0
	}
	q.policyUntil = now.Add(doubledWait(policyWaitMin, policyWaitMax, q.policyTrips))
	q.policyTrips++
	return true
}

// RecordSuccess notes that an owner was planned for within the limits, or is gone.
func (q *Quarantine) RecordSuccess(owner types.NamespacedName) { delete(q.owners, owner) }

// doubledWait returns first, doubled once for each failure, and at most last.
func doubledWait(first, last time.Duration, failures int) time.Duration {
	wait := first
	for range failures {
		if wait = min(2*wait, last); wait == last {
			break
		}
	}
	return wait
}
