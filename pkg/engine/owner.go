package engine

import (
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/internal/status"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/watch"
)

// ownerState is what the engine remembers of one owner between passes. All of
// it can be lost without harm: a restart costs at most a few repeated requests.
// It belongs to the worker that has the owner's key; the queue gives a key to
// one worker at a time.
type ownerState struct {
	subscriber ownerSubscriber
	sources    *sources
	failures   int       // passes in a row that found the cache behind
	syncing    time.Time // since when a stream has not delivered its first list; zero if all have
	// settled are digests of differences, by uid of the child, that the API server
	// normalises away: see plan.Snapshot.Settled.
	settled map[types.UID]string
	status  settledStatus
	// refused are writes that the API server refused, by the key of the problem.
	refused map[string]refusal
}

// refusal is a write that was refused. The same write is not tried again before
// its time, however many events there are.
type refusal struct {
	what     string // which write: equal for equal writes
	problem  plan.Problem
	failures int // in a row, of this write
	until    time.Time
}

// refuse notes that a write was refused, and says whether that is news.
func (s *ownerState) refuse(key, what string, problem plan.Problem, now time.Time) (news bool) {
	failures := 0
	before, ok := s.refused[key]
	if ok && before.what == what {
		failures = before.failures + 1
	}
	s.refused[key] = refusal{what: what, problem: problem, failures: failures, until: now.Add(backoff(failures))}
	return !ok || before.problem.Message != problem.Message
}

// refusedStill returns the problem of a write that was refused a short while ago.
func (s *ownerState) refusedStill(key, what string, now time.Time) (plan.Problem, bool) {
	r, ok := s.refused[key]
	return r.problem, ok && r.what == what && now.Before(r.until)
}

// settledStatus remembers a status that the API server did not keep as it was
// written (a schema without some of its fields), so that it is not written again
// at each pass. Both are as of the last write; empty: none.
type settledStatus struct {
	wanted, kept map[string]any
}

// covers says whether writing next over old was done before, to no effect.
func (s settledStatus) covers(old, next map[string]any) bool {
	return s.wanted != nil && status.Same(s.kept, old) && status.Same(s.wanted, next)
}

// ownerSubscriber queues one owner when something it needs has changed. It is
// comparable: equal values are the same subscriber.
type ownerSubscriber struct {
	operator *operator
	name     types.NamespacedName
}

var _ watch.Subscriber = ownerSubscriber{}

// Changed implements watch.Subscriber.
func (s ownerSubscriber) Changed(watch.Event) {
	s.operator.engine.enqueue(Key{Policy: s.operator.id, Namespace: s.name.Namespace, Name: s.name.Name})
}

func (op *operator) subscriber(name types.NamespacedName) ownerSubscriber {
	return ownerSubscriber{operator: op, name: name}
}

// state returns what is remembered of an owner; made if there is nothing yet.
func (op *operator) state(name types.NamespacedName) *ownerState {
	op.mu.Lock()
	defer op.mu.Unlock()
	state, ok := op.owners[name]
	if !ok {
		state = &ownerState{subscriber: op.subscriber(name), settled: map[types.UID]string{}, refused: map[string]refusal{}}
		op.owners[name] = state
	}
	return state
}

// forget gives back all that an owner needed.
func (op *operator) forget(name types.NamespacedName) {
	op.mu.Lock()
	_, known := op.owners[name]
	delete(op.owners, name)
	op.mu.Unlock()
	if known {
		op.engine.options.Streams.Keep(op.subscriber(name), nil)
	}
}

// Backoff of what did not succeed: doubling from the first value to the last,
// with up to a fifth of jitter. The last value bounds how long a mended cause
// that gives no event (a foreign object that went away) is missed.
const (
	retryMin = 200 * time.Millisecond
	retryMax = time.Minute
)

// backoff is how long to wait after so many failures before the last one.
func backoff(failures int) time.Duration {
	wait := retryMax
	if failures < 9 { // 200 ms << 9 is over a minute
		wait = min(retryMin<<failures, retryMax)
	}
	return wait + rand.N(wait/5)
}
