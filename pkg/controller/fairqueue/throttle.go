package fairqueue

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// pauseFactor is the length of the pause after a reconcile, as a multiple of the time
	// that was charged: so expensive owners together use at most a tenth of one core.
	pauseFactor = 9
	// occupiedRetry is when to try again while another owner is inside.
	occupiedRetry = 100 * time.Millisecond
)

// Throttle admits one expensive owner at a time, of all policies together, and keeps
// everybody out after it in proportion to the time that was charged. Owners that are not
// expensive do not pass through it. The zero value is ready. Safe for concurrent use.
type Throttle struct {
	mu       sync.Mutex // guards what is below
	occupied bool
	charged  time.Duration // since the last LeaveAndPause
	reopens  time.Time     // nobody is admitted before
}

// TryEnter admits the caller if the result is 0, and the caller must call LeaveAndPause. Otherwise it
// returns how long to wait before the next try. Callers add jitter of their own.
func (t *Throttle) TryEnter(now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.occupied:
		return occupiedRetry
	case t.reopens.After(now):
		return t.reopens.Sub(now)
	}
	t.occupied = true
	return 0
}

// ChargeTime adds time that expensive work used to the account that the next LeaveAndPause settles.
func (t *Throttle) ChargeTime(used time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.charged += used
}

// LeaveAndPause ends what TryEnter began, and begins the pause.
func (t *Throttle) LeaveAndPause(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.occupied, t.reopens, t.charged = false, now.Add(pauseFactor*t.charged), 0
}

const (
	// exceededMemory is how long all owners of a policy are expensive after one of them
	// has exceeded a limit.
	exceededMemory = ownerWaitMax
	// slowApart is the least time between two slow evaluations that make an owner
	// expensive. On a busy machine a quick one may be interrupted, but not again later.
	slowApart = time.Second
	// slowMemory is how long an owner stays expensive after its last slow evaluation.
	slowMemory = time.Minute
)

// CostHistory remembers which owners of a policy are expensive: all of them for a while
// after one has exceeded a limit, and those whose evaluations were slow more than once.
// Not safe for concurrent use. The zero value is ready.
type CostHistory struct {
	exceeded time.Time // the last time that an owner exceeded a limit
	slow     map[types.NamespacedName]slowOwner
}

// slowOwner is an owner with a slow evaluation.
type slowOwner struct {
	first, last time.Time
	repeated    bool // there was one slowApart or more after the first
}

// ForNextRevision returns the history that an edited policy begins with: its owners stay
// expensive if one of them has exceeded a limit lately, so that an edit is no way out.
func (h *CostHistory) ForNextRevision() CostHistory { return CostHistory{exceeded: h.exceeded} }

// IsExpensive reports whether the owner has to pass through the Throttle.
func (h *CostHistory) IsExpensive(owner types.NamespacedName, now time.Time) bool {
	if !h.exceeded.IsZero() && now.Sub(h.exceeded) <= exceededMemory {
		return true
	}
	slow := h.slow[owner]
	return slow.repeated && now.Sub(slow.last) <= slowMemory
}

// RecordExceeded notes that an owner of the policy has exceeded a limit.
func (h *CostHistory) RecordExceeded(now time.Time) { h.exceeded = now }

// RecordSlow notes a slow evaluation for an owner, and drops owners whose last one was
// too long ago to matter.
func (h *CostHistory) RecordSlow(owner types.NamespacedName, now time.Time) {
	if h.slow == nil {
		h.slow = map[types.NamespacedName]slowOwner{}
	}
	maps.DeleteFunc(h.slow, func(_ types.NamespacedName, o slowOwner) bool { return now.Sub(o.last) > slowMemory })
	slow, ok := h.slow[owner]
	if !ok {
		slow.first = now
	}
	slow.last, slow.repeated = now, slow.repeated || now.Sub(slow.first) >= slowApart
	h.slow[owner] = slow
}

// ForgetOwner drops the slow evaluations of an owner.
func (h *CostHistory) ForgetOwner(owner types.NamespacedName) { delete(h.slow, owner) }
