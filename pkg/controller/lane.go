package controller

import (
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
)

// lane is where policies work of which an owner ran into a limit a short while ago, and
// other policies on an owner whose expressions took long twice: all of them together on one
// owner at a time, and after each the machine is left to the others for some time. Its
// zero value is ready. Safe for concurrent use.
type lane struct {
	mu    sync.Mutex
	busy  bool
	spent time.Duration // on expressions, by the one that is in
	free  time.Time     // not before this
}

const (
	// laneRest is for how many times as long as expressions took nothing is done after
	// the work: so those of all that is in the lane take at most a tenth of one core.
	laneRest = 9
	// laneRetry is when to try again while another owner is being worked on.
	laneRetry = 100 * time.Millisecond
	// laneMemory is how long a policy stays in the lane after the last limit.
	laneMemory = limitedMax
	// laneSlow is how long expressions may take that leave an owner outside of the lane:
	// half of what a single one may take. It takes two that are laneApart or more from each
	// other, for on a busy machine what is quick may be interrupted for as long.
	// laneSlowMemory is how long the owner stays inside after the last one.
	laneSlow, laneApart, laneSlowMemory = cel.TimeLimit / 2, time.Second, time.Minute
)

// enter says how long to wait; 0: the caller is in, and has to leave.
func (l *lane) enter(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.busy:
		return laneRetry + rand.N(laneRetry)
	case l.free.After(now):
		return l.free.Sub(now) + rand.N(laneRetry)
	}
	l.busy = true
	return 0
}

// spend notes how long expressions took of the one that is in.
func (l *lane) spend(took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spent += took
}

// leave ends what enter began.
func (l *lane) leave(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy, l.free, l.spent = false, now.Add(laneRest*l.spent), 0
}

// isStrained says whether an owner is to be worked on in the lane.
func (q *quarantine) isStrained(name types.NamespacedName, now time.Time) bool {
	if !q.last.IsZero() && now.Sub(q.last) <= laneMemory {
		return true
	}
	of := q.slow[name]
	return of.again && now.Sub(of.last) <= laneSlowMemory
}

// slowness is of an owner over which expressions took long.
type slowness struct {
	first, last time.Time
	again       bool // some time after the first
}

// slowed notes that expressions over an owner took long.
func (q *quarantine) slowed(name types.NamespacedName, now time.Time) {
	if q.slow == nil {
		q.slow = map[types.NamespacedName]slowness{}
	}
	maps.DeleteFunc(q.slow, func(_ types.NamespacedName, of slowness) bool { return now.Sub(of.last) > laneSlowMemory })
	of, ok := q.slow[name]
	if !ok {
		of.first = now
	}
	of.last, of.again = now, of.again || now.Sub(of.first) >= laneApart
	q.slow[name] = of
}

// evaluated notes how long expressions over an owner have taken, which began then.
func (op *operator) evaluated(name types.NamespacedName, began time.Time) {
	now := op.engine.now()
	took := now.Sub(began)
	op.mu.Lock()
	strained := op.quarantine.isStrained(name, began)
	if took >= laneSlow {
		op.quarantine.slowed(name, now)
	}
	op.mu.Unlock()
	if strained {
		op.engine.lane.spend(took)
	}
}

// enterLane says how long an owner has to wait because of the lane; if not at all, the
// result is to be called when the work on it is done.
func (op *operator) enterLane(name types.NamespacedName) (leave func(), wait time.Duration) {
	now := op.engine.now()
	op.mu.Lock()
	strained := op.quarantine.isStrained(name, now)
	op.mu.Unlock()
	if op.retiring || !strained {
		return func() {}, 0
	}
	if wait := op.engine.lane.enter(now); wait > 0 {
		return nil, wait
	}
	return func() { op.engine.lane.leave(op.engine.now()) }, 0
}
