package fairqueue

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// Key identifies what a worker reconciles: an owner of a policy or, without a name,
// the policy itself.
type Key struct {
	// Policy is the policy's namespace, if it has one, and name, joined by a slash.
	Policy string
	// Namespace and Name are the owner's. Name is empty for the policy itself.
	Namespace, Name string
}

// New returns a queue in which policies take turns. It holds a key once, and gives it to one
// worker at a time. Keys added with AddRateLimited wait as limiter says. The caller
// ends it with ShutDown.
func New(name string, limiter workqueue.TypedRateLimiter[Key]) workqueue.TypedRateLimitingInterface[Key] {
	inner := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[Key]{Name: name, Queue: &roundRobin{}})
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[Key]{Name: name, Queue: inner})
	return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[Key]{Name: name, DelayingQueue: delaying})
}

// Backoff of keys whose reconcile ended in an error, which is a fault of Ambit or of
// the machine: a refused request is not an error but part of the result.
const (
	errorBackoffMin = 50 * time.Millisecond
	errorBackoffMax = time.Minute
)

// ErrorBackoff returns the rate limiter of keys whose reconcile ended in an error.
func ErrorBackoff() workqueue.TypedRateLimiter[Key] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[Key](errorBackoffMin, errorBackoffMax)
}

// roundRobin is the order of the queue: round robin between policies; within a policy the
// policy itself first, then its owners first in, first out. It is used under the lock of
// the queue around it. The zero value is ready.
type roundRobin struct {
	waiting map[string][]Key // by policy; never holds an empty list
	order   []string         // the policies in waiting, the next one first
	length  int              // of all lists together
}

var _ workqueue.Queue[Key] = (*roundRobin)(nil)

// Touch does nothing: a key that is added again keeps its place.
func (r *roundRobin) Touch(Key) {}

// Push adds a key at the end of its policy's list. The policy itself goes first, because
// it decides whether its owners are worked on at all.
func (r *roundRobin) Push(key Key) {
	if r.waiting == nil {
		r.waiting = map[string][]Key{}
	}
	line, ok := r.waiting[key.Policy]
	if !ok {
		r.order = append(r.order, key.Policy)
	}
	if key.Name == "" {
		line = append([]Key{key}, line...)
	} else {
		line = append(line, key)
	}
	r.waiting[key.Policy] = line
	r.length++
}

// Len returns the number of keys of all policies.
func (r *roundRobin) Len() int { return r.length }

// Pop takes the first key of the policy whose turn it is. There must be one.
func (r *roundRobin) Pop() Key {
	policy := r.order[0]
	r.order = r.order[1:]
	line := r.waiting[policy]
	if len(line) == 1 {
		delete(r.waiting, policy)
	} else {
		r.waiting[policy] = line[1:]
		r.order = append(r.order, policy)
	}
	r.length--
	return line[0]
}

// FirstEvents holds, for keys that wait because of events, the time of the first one. It
// is what latency is measured from. The zero value is ready. Safe for concurrent use.
type FirstEvents struct {
	mu    sync.Mutex // guards what is below
	times map[Key]time.Time
}

// Record notes an event of a key. Only the first one since Take counts.
func (f *FirstEvents) Record(key Key, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.times == nil {
		f.times = map[Key]time.Time{}
	}
	if _, ok := f.times[key]; !ok {
		f.times[key] = now
	}
}

// Take returns the time of the key's first event since the last call, and forgets it.
// It is zero if there was no event.
func (f *FirstEvents) Take(key Key) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	first := f.times[key]
	delete(f.times, key)
	return first
}
