package engine

import (
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
)

// lane is where policies work of which an owner ran into a limit a short while ago, and
// other policies on an owner whose expressions took long: all of them together on one
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
	// laneSlow is how long the expressions of a plan may take that leave an owner outside
	// of the lane: half of what a single one may take. They have to take longer laneSlowTimes
	// in a row, for on a busy machine any of them may be interrupted. laneSlowMemory is how
	// long the owner stays inside.
	laneSlow, laneSlowTimes, laneSlowMemory = cel.TimeLimit / 2, 2, time.Minute
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
	return of.times >= laneSlowTimes && now.Sub(of.last) <= laneSlowMemory
}

// slowness is of an owner for which plans took long.
type slowness struct {
	times int // in a row
	last  time.Time
}

// planned notes how long a plan for an owner took.
func (q *quarantine) planned(name types.NamespacedName, took time.Duration, now time.Time) {
	if took < laneSlow {
		if q.slow[name].times < laneSlowTimes {
			delete(q.slow, name)
		}
		return
	}
	if q.slow == nil {
		q.slow = map[types.NamespacedName]slowness{}
	}
	maps.DeleteFunc(q.slow, func(_ types.NamespacedName, of slowness) bool { return now.Sub(of.last) > laneSlowMemory })
	q.slow[name] = slowness{times: q.slow[name].times + 1, last: now}
}

// evaluated notes how long expressions over an owner have taken, which began then.
func (op *operator) evaluated(name types.NamespacedName, began time.Time) {
	now := op.engine.now()
	took := now.Sub(began)
	op.mu.Lock()
	strained := op.quarantine.isStrained(name, began)
	op.quarantine.planned(name, took, now)
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
